"""Runs in a process of their own: to measure memory, or times that differ between processes."""

import json
import sys
import time
from collections.abc import Callable
from functools import partial

import belated as bl
import minimal
from measure import Timings, measurement, memory_mb
from worlds import random_world


def main(task: str, *arguments: str) -> None:
    """Run a `task` with `arguments` and print its report as JSON."""
    tasks = {"long": measure_long, "large": measure_large, "small": measure_small}
    print(json.dumps(tasks[task](*arguments)))


def measure_small(episodes: str, repeats: str) -> dict[str, float]:
    """Return the times of runs on chain 5, in microseconds per episode.

    Parameters
    ----------
    episodes : str
        Number of episodes.
    repeats : str
        Number of turns; the times are medians over these.

    Returns
    -------
    dict
        Times of the "floor", of the floor with the optimal policy ("moving"), of "active", and of
        the "smallest" program with and "without" plans.
    """
    world, K = bl.chain(5), int(episodes)
    base = bl.UCBVI_BF(preset="two_term")
    run = partial(bl.simulate, world, base=base, updater=bl.Active(), episodes=K)
    smallest = partial(minimal.regret, world, episodes=K)
    assert smallest() == run().total_regret
    runs = {
        "floor": partial(run, planning="none"),
        "moving": partial(run, base=bl.Optimal(), planning="none"),
        "active": run,
        "smallest": smallest,
        "without": partial(smallest, plans=False),
    }
    timings = Timings({name: measurement(each, K) for name, each in runs.items()}, int(repeats))
    return {name: timings[name] for name in runs}


def measure_long(episodes: str) -> dict[str, float]:
    """Return time and memory of a run of many `episodes` with delayed feedback."""
    world = bl.chain(10)

    def run(K: int) -> None:
        bl.simulate(
            world,
            base=bl.UCBVI_BF(preset="two_term", scale=0.1),
            updater=bl.Active(),
            delay=bl.delays.geometric(mean=100),
            episodes=K,
        )

    return measure_run(run, int(episodes))


def measure_large(base: str, scale: str, episodes: str) -> dict[str, float]:
    """Return time and memory of a run in a world of the size of ICU-Sepsis.

    Parameters
    ----------
    base : str
        Name of the base in `belated`.
    scale : str
        Scale of its bonus.
    episodes : str
        Number of episodes.

    Returns
    -------
    dict
        See `measure_run`; "policy_changed" tells whether the policy changed during the run.
    """
    world = random_world(716, 25, 20, successors=85, rewarding=0.02)
    learner = getattr(bl, base)(scale=float(scale))
    regret = {}

    def run(K: int, planning: str = "incremental") -> None:
        regret[planning] = bl.simulate(
            world, base=learner, updater=bl.Active(), episodes=K, planning=planning
        ).total_regret

    report = measure_run(run, int(episodes))
    run(int(episodes), "none")
    return report | {"policy_changed": regret["incremental"] != regret["none"]}


def measure_run(run: Callable[[int], object], episodes: int) -> dict[str, float]:
    """Return "seconds" and memory of `run` with `episodes`, after a run of two episodes.

    Memory is in MB: "before" the run, the "peak" of the process, and "extra", their difference.
    """
    run(2)
    before = memory_mb()
    start = time.perf_counter()
    run(episodes)
    report = {"seconds": time.perf_counter() - start}
    if before:
        peak = memory_mb()["peak"]
        report |= {"before": before["now"], "peak": peak, "extra": peak - before["now"]}
    return report


if __name__ == "__main__":
    main(*sys.argv[1:])
