"""The progress of a sweep: when it begins, and what a resumed sweep says."""

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


def test_the_engine_is_compiled_before_progress_is_shown(tmp_path, monkeypatch):
    events = []

    class Recorded(module.Progress):
        def __enter__(self):
            events.append("progress")
            return super().__enter__()

    monkeypatch.setattr(module, "Progress", Recorded)
    monkeypatch.setattr(module, "compile_engine", lambda setting, seed: events.append("compile"))
    module.sweep(STUDY.cells()[:1], Store(tmp_path), threads=1)
    assert events == ["compile", "progress"]
    module.sweep(STUDY.cells()[:1], Store(tmp_path), threads=1)
    assert len(events) == 2  # nothing is left to run
