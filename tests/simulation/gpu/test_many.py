"""`simulate_many` with engine="gpu": order, checkpoints, progress and interruption."""

import pytest

import belated as bl
from belated.simulation.gpu import engine
from belated.simulation.many import Interrupted
from belated.simulation.reporting import RunSoFar
from gpus import needs_gpu, size

pytestmark = needs_gpu


OPTIONS = {
    "base": "ucbvi-ch:scale=0.1",
    "updater": "lazy:3",
    "delay": "geometric:3",
    "episodes": size(30, 300),
    "every": 10,
}


def test_runs_are_returned_in_the_order_of_their_seeds() -> None:
    runs = bl.simulate_many("chain-3", engine="gpu", seeds=[3, 0, 2], **OPTIONS)
    assert [run.seed for run in runs] == [3, 0, 2]


def test_every_checkpoint_is_reported_once_with_its_regret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "FIRST_BUDGET", 60)
    seen: list[RunSoFar] = []
    runs = bl.simulate_many(
        "chain-3", engine="gpu", seeds=[0, 1], on_checkpoint=seen.append, **OPTIONS
    )
    for run in runs:
        own = [one for one in seen if one.seed == run.seed]
        assert [one.episode for one in own] == run.episode.tolist()
        assert [one.regret for one in own] == run.regret.tolist()


def test_an_interruption_stops_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "FIRST_BUDGET", 30)

    def interrupt(checkpoint: RunSoFar) -> None:
        raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="0 of 2 runs were finished"):
        bl.simulate_many("chain-3", engine="gpu", seeds=[0, 1], on_checkpoint=interrupt, **OPTIONS)
