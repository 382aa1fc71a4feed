"""Runs of the compiled engine on all cores of a machine, to compare the GPU engine with them."""

import hashlib
import multiprocessing
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np

from belated.mdp.worlds import world as parse_world
from belated.papers.howson2021.base import Published
from belated.simulation.run import Run
from belated.simulation.setting import Setting
from belated.sweep.cell import Cell

NUMBERS = (
    *("seed", "updates", "epochs", "max_missing", "optimism_broken", "last_explored"),
    *("longest_delay", "missing", "mean_delay", "psi"),
)
"""Attributes of a `Run` that `benchmarks/gpu.py paper` stores, besides the regret."""

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

MEASURED_S = 0.5
"""Shortest time of a measurement on a core, in seconds."""

UPDATERS = ("active", "lazy:1", "lazy:10", "lazy:100", "explicit")

PUBLISHED = {"base": Published(ties="random"), "stages": "pooled"}


def chain_setting(states: int, updater: str, delay: str, episodes: int) -> Setting:
    """Return a setting of the paper's base on the chain with `states` states.

    Explicit exploration runs on the chain whose last state gives a reward for one action.
    """
    name = f"chain-{states}" + ("-right" if updater == "explicit" else "")
    options = {**PUBLISHED, "delay": delay, "updater": updater}
    return Setting(world=parse_world(name), **options, episodes=episodes)


def processes() -> ProcessPoolExecutor:
    """Return one process for each core; none of them uses the GPU."""
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(CORES, context, set_barrier, (context.Barrier(CORES),))


def set_barrier(barrier: Any) -> None:
    """Let the runs of this process start together with those that have the same `barrier`."""
    global start_together
    start_together = barrier


def chain_rate(states: int, updater: str, episodes: int, *, together: bool = False) -> float:
    """Return the episodes per second of runs one after another, for at least `MEASURED_S`.

    The first run, which may compile, is not measured. If `together`, the others begin when all
    processes have come so far.
    """
    setting = chain_setting(states, updater, "geometric:300", episodes)
    setting.run(0)
    if together:
        start_together.wait()
    began, runs, took = time.perf_counter(), 0, 0.0
    while took < MEASURED_S:
        setting.run(runs)
        runs += 1
        took = time.perf_counter() - began
    return runs * episodes / took


def cpu_rates(
    pool: ProcessPoolExecutor, states: int, updater: str, episodes: int
) -> tuple[float, float]:
    """Return episodes per second of the compiled engine: on one core, and on all at once."""
    options = (chain_rate, states, updater, episodes)
    one = pool.submit(*options).result()
    futures = [pool.submit(*options, together=True) for _ in range(CORES)]
    return one, sum(future.result() for future in futures)


def digest(regret: np.ndarray, numbers: Sequence[float]) -> str:
    """Return a digest of what the Parquet files of a run contain, apart from its setting."""
    found = hashlib.sha256(np.ascontiguousarray(regret, float).tobytes())
    found.update(np.array(numbers, float).tobytes())
    return found.hexdigest()


def run_digest(run: Run) -> str:
    """Return the digest of `run`."""
    return digest(run.regret, [getattr(run, name) for name in NUMBERS])


def run_cell(cell: Cell) -> list[str]:
    """Return the digest of each run of `cell`, computed by the compiled engine."""
    setting = cell.build()
    return [run_digest(setting.run(seed)) for seed in cell.seeds]


def stored_digests(folder: Path) -> dict[tuple[str, int], str]:
    """Return the digest of each run in `folder`, written by `paper`, by setting and seed."""
    found = {}
    for file in sorted(folder.glob("chain-*.npz")):
        arrays = np.load(file)
        for name, regret, numbers in zip(
            arrays["settings"], arrays["regret"], arrays["numbers"], strict=True
        ):
            found[str(name), int(numbers[0])] = digest(regret, numbers)
    return found


def one_of_each_setting(cells: Iterable[Cell]) -> list[Cell]:
    """Return one cell of each setting, each with other seeds than the next; long cells first."""
    by_setting: dict[str, list[Cell]] = {}
    for cell in cells:
        by_setting.setdefault(cell.setting, []).append(cell)
    return longest_first(own[i % len(own)] for i, own in enumerate(by_setting.values()))


def longest_first(cells: Iterable[Cell]) -> list[Cell]:
    """Return `cells` in the order of the time that they need, the longest first."""
    plans = {"active": 3, "explicit": 4}  # rough relative time of an episode
    return sorted(
        cells,
        key=lambda cell: cell.episodes * plans.get(cell.updater, 1) * len(cell.world),
        reverse=True,
    )


def compare_cells(cells: Sequence[Cell], folder: Path) -> Iterator[tuple[Cell, bool]]:
    """Yield each of `cells`, and whether all its runs on the CPU are those stored in `folder`."""
    known = stored_digests(folder)
    with processes() as pool:
        pool.submit(chain_rate, 5, "active", 10).result()  # compiles, if nothing is compiled
        futures = {pool.submit(run_cell, cell): cell for cell in cells}
        for future in as_completed(futures):
            cell = futures[future]
            yield (
                cell,
                future.result() == [known.get((cell.setting, seed)) for seed in cell.seeds],
            )
