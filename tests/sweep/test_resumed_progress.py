"""The progress of a resumed sweep says how many cells are finished."""

from belated.sweep import sweep as module
from belated.sweep.store import Store
from small_study import STUDY


def test_a_resumed_sweep_says_how_many_cells_are_finished(tmp_path, monkeypatch):
    titles = []

    class Recorded(module.Progress):
        def __init__(self, title, **options):
            titles.append(title)
            super().__init__(title, **{**options, "shown": False})

    monkeypatch.setattr(module, "Progress", Recorded)
    cells = [cell for cell in STUDY.cells() if cell.world == "chain-3"][:3]
    store = Store(tmp_path)
    module.sweep(cells[:1], store, threads=1)
    module.sweep(cells, store, threads=1)
    assert titles == ["1 cells", "2 cells, 1 of 3 finished before"]
