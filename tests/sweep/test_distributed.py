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
pytestmark = pytest.mark.filterwarnings("ignore")  # Dask emits its own


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
            while not store.read_provenance()[0] and not killed.wait(0.01):
                pass
            os.kill(victim, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        sweep(cells, store, scheduler=cluster.scheduler_address)
        killed.set()
        killer.join()
    assert bytes_of(tmp_path / "dask") == bytes_of(tmp_path / "threads")


@pytest.mark.parametrize(
    ("scheduler", "message"),
    [
        ("local:none", "must be 'local:N' with N at least 1"),
        ("tcp://127.0.0.1:9", "No Dask scheduler answers at 'tcp:"),
    ],
)
def test_an_unusable_scheduler_is_rejected_with_the_reason(
    tmp_path: Path, scheduler: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("belated.sweep.distributed.CONNECT_TIMEOUT", "1s")
    with pytest.raises(ValueError, match=message):
        sweep(STUDY.cells(), Store(tmp_path), scheduler=scheduler)
