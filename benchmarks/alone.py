"""Runs that need a process of their own, because their memory is measured."""

import json
import sys
import time
from collections.abc import Callable

import belated as bl
from measure import memory
from worlds import random_world


def main(task: str, *arguments: str) -> None:
    """Print what a task reports, as JSON."""
    print(json.dumps({"long": long, "large": large}[task](*arguments)))


def long(episodes: str) -> dict[str, float]:
    """Many episodes, much of whose feedback is outstanding."""
    world = bl.chain(10)

    def run(K: int) -> None:
        bl.simulate(
            world,
            base=bl.UCBVI_BF(preset="two_term", scale=0.1),
            updater=bl.Active(),
            delay=bl.delays.geometric(mean=100),
            episodes=K,
        )

    return measured(run, int(episodes))


def large(base: str, scale: str, episodes: str) -> dict[str, float]:
    """A world of the size of ICU-Sepsis; also whether another policy than the first was played."""
    world = random_world(716, 25, 20, successors=85, paying=0.02)
    learner = getattr(bl, base)(scale=float(scale))
    regret = {}

    def run(K: int, planning: str = "incremental") -> None:
        regret[planning] = bl.simulate(
            world, base=learner, updater=bl.Active(), episodes=K, planning=planning
        ).total_regret

    report = measured(run, int(episodes))
    run(int(episodes), "none")
    return report | {"moved": regret["incremental"] != regret["none"]}


def measured(run: Callable[[int], object], episodes: int) -> dict[str, float]:
    """Seconds and memory of a run, beyond those of a process in which everything is loaded."""
    run(2)
    before = memory()
    began = time.perf_counter()
    run(episodes)
    report = {"seconds": time.perf_counter() - began}
    if before:
        peak = memory()["peak"]
        report |= {"before": before["now"], "peak": peak, "extra": peak - before["now"]}
    return report


if __name__ == "__main__":
    main(*sys.argv[1:])
