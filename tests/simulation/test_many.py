import signal
import threading
import time
from dataclasses import fields

import numpy as np
import pytest

import belated as bl
from belated.simulation.many import Interrupted, run_seeds
from belated.simulation.run import Run

LEARNER = {"base": bl.UCRL2(scale=0.1), "updater": bl.Lazy(2), "delay": bl.delays.geometric(5)}


def a_run(seed):
    return Run(
        seed=seed,
        episodes=1,
        episode=np.array([1]),
        regret=np.array([0.5]),
        updates=0,
        epochs=1,
        max_missing=0,
        optimism_broken=0,
    )


class Scripted:
    """A setting whose runs do what a script says."""

    episodes = 1
    engine = "auto"
    base = bl.UCRL2()
    updater = bl.Active()

    def __init__(self, script):
        self.script = script

    def run(self, seed, on_progress):
        on_progress(1)
        return self.script(seed, on_progress)


def until_stopped(on_progress):
    while True:
        on_progress(1)


@pytest.mark.parametrize("threads", [None, 1, 2, 5])
def test_runs_are_those_of_simulate_in_the_order_of_the_seeds(threads):
    seeds = [5, 0, 2**64 - 1, 5]
    options = {**LEARNER, "episodes": 300, "every": 7, "trace": True}
    together = bl.simulate_many(bl.chain(4), seeds=iter(seeds), threads=threads, **options)
    apart = [bl.simulate(bl.chain(4), seed=seed, **options) for seed in seeds]
    assert len(together) == len(apart)
    for one, other in zip(together, apart, strict=True):
        for field in fields(Run):
            np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name))


def test_no_seeds_give_no_runs():
    assert bl.simulate_many(bl.chain(3), **LEARNER, episodes=10, seeds=[], progress=True) == []


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"seeds": 30}, TypeError, r"^seeds must be a sequence of seeds .*, got 30\.$"),
        ({"seeds": [1, -1]}, ValueError, r"^seed must lie in 0 .*, got -1"),
        ({"seeds": [0.5]}, TypeError, r"^seed must be an integer, got 0\.5\.$"),
        ({"seeds": [1], "threads": 0}, ValueError, r"^threads must be at least 1, got 0\.$"),
        ({"seeds": [1], "episodes": 0}, ValueError, r"^episodes must be at least 1, got 0\.$"),
    ],
)
def test_wrong_arguments_are_refused(wrong, error, message):
    with pytest.raises(error, match=message):
        bl.simulate_many(bl.chain(3), **{**LEARNER, "episodes": 10, **wrong})


def test_ctrl_c_stops_every_run_and_keeps_the_finished_ones_in_the_order_of_the_seeds():
    finishing = threading.Semaphore(0)

    def script(seed, on_progress):
        if seed in (7, 9):
            finishing.release()
            return a_run(seed)
        if seed == 1:
            finishing.acquire()
            finishing.acquire()
            time.sleep(0.1)  # both threads only have to return
            signal.raise_signal(signal.SIGINT)
        return until_stopped(on_progress)

    with pytest.raises(Interrupted, match=r"^Interrupted: 2 of 5 runs were finished\.$") as caught:
        run_seeds(Scripted(script), [9, 1, 2, 7, 3], threads=5, progress=None)
    assert [run.seed for run in caught.value.runs] == [9, 7]
    assert isinstance(caught.value, KeyboardInterrupt)


def test_after_ctrl_c_no_run_is_started():
    started = []

    def script(seed, on_progress):
        started.append(seed)
        signal.raise_signal(signal.SIGINT)
        return until_stopped(on_progress)

    with pytest.raises(Interrupted) as caught:
        run_seeds(Scripted(script), [4, 5, 6], threads=1, progress=None)
    assert caught.value.runs == []
    assert started == [4]


def test_a_real_run_stops_when_it_is_told_to(monkeypatch):
    def interrupted(futures, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("belated.simulation.many.wait", interrupted)
    with pytest.raises(Interrupted) as caught:
        bl.simulate_many(bl.chain(4), **LEARNER, episodes=300_000, seeds=range(3), threads=2)
    assert caught.value.runs == []


def test_an_error_in_one_run_stops_the_others_and_is_raised():
    def script(seed, on_progress):
        if seed == 1:
            raise ValueError("Seed 1 is unlucky.")
        return until_stopped(on_progress)

    with pytest.raises(ValueError, match=r"^Seed 1 is unlucky\.$"):
        run_seeds(Scripted(script), [0, 1, 2], threads=2, progress=None)


def test_a_fallback_to_the_reference_loop_warns_once():
    class Patient(bl.Active):
        def due(self, arrival):
            return arrival.since_plan >= 3

    options = {**LEARNER, "updater": Patient(), "episodes": 30}
    with pytest.warns(UserWarning, match="Running the slower reference loop") as told:
        [run] = bl.simulate_many(bl.chain(3), **options, seeds=[3])
    assert len(told) == 1
    alone = bl.simulate(bl.chain(3), **options, seed=3, engine="reference")
    np.testing.assert_array_equal(run.regret, alone.regret)


def test_progress_is_told_in_lines_where_there_is_no_terminal(capsys):
    bl.simulate_many(bl.chain(3), **LEARNER, episodes=50, seeds=range(4), progress=True)
    first, *_, last = capsys.readouterr().err.splitlines()
    assert first.startswith("Simulating ucrl2, scale 0.1, lazy:2: 0 of 200 episodes, 0%, ")
    assert last.startswith("Simulating ucrl2, scale 0.1, lazy:2: 200 episodes in 0:0")


@pytest.mark.parametrize("progress", [None, False])
def test_short_work_is_silent(progress, capsys):
    bl.simulate_many(bl.chain(3), **LEARNER, episodes=50, seeds=range(4), progress=progress)
    assert capsys.readouterr() == ("", "")
