"""Sweeps through Dask: the same bytes, even when a worker dies."""

import os
import signal
import threading
from pathlib import Path

import pytest

from belated.sweep.store import Store
from belated.sweep.sweep import sweep
from small_study import STUDY, bytes_of

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore")  # of Dask's own making


def test_a_worker_killed_in_the_middle_changes_no_byte(tmp_path: Path) -> None:
    cells = STUDY.cells()
    sweep(cells, Store(tmp_path / "threads"))
    store = Store(tmp_path / "dask")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        victim = next(iter(cluster.workers.values())).pid
        killed = threading.Event()

        def kill() -> None:
            while not any(store.ids()) and not killed.wait(0.01):
                pass
            os.kill(victim, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        sweep(cells, store, scheduler=cluster.scheduler_address)
        killed.set()
        killer.join()
    assert bytes_of(tmp_path / "dask") == bytes_of(tmp_path / "threads")


@pytest.mark.parametrize(
    ("scheduler", "sentence"),
    [
        ("local:none", "it must be 'local:N'"),
        ("tcp://127.0.0.1:9", "no Dask scheduler answers there"),
    ],
)
def test_a_scheduler_that_is_not_there_is_a_sentence(
    tmp_path: Path, scheduler: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("belated.sweep.distributed.PATIENCE", "1s")
    with pytest.raises(ValueError, match=sentence):
        sweep(STUDY.cells(), Store(tmp_path), scheduler=scheduler)
