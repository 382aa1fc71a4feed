"""Runs in a process of their own, so that their memory can be measured."""

import json
import sys
import time
from collections.abc import Callable

import belated as bl
from measure import memory_mb
from worlds import random_world


def main(task: str, *arguments: str) -> None:
    """Run a `task` with `arguments` and print its report as JSON."""
    print(json.dumps({"long": measure_long, "large": measure_large}[task](*arguments)))


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
