"""Runs of the compiled engine on all cores of a machine, to compare the GPU engine with them."""

import hashlib
import multiprocessing
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

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
    return ProcessPoolExecutor(CORES, multiprocessing.get_context("spawn"))


def run_chain(states: int, updater: str, episodes: int, seed: int) -> float:
    """Run `episodes` episodes with geometric delays of mean 300; return the time in seconds."""
    setting = chain_setting(states, updater, "geometric:300", episodes)
    began = time.perf_counter()
    setting.run(seed)
    return time.perf_counter() - began


def cpu_rates(
    pool: ProcessPoolExecutor, states: int, updater: str, episodes: int
) -> tuple[float, float]:
    """Return episodes per second of the compiled engine: on one core, and on all at once."""
    pool.submit(run_chain, states, updater, 10, 0).result()  # compiles, if nothing is compiled
    took = pool.submit(run_chain, states, updater, episodes, 0).result()
    runs = 2 * CORES
    began = time.perf_counter()
    futures = [pool.submit(run_chain, states, updater, episodes, seed) for seed in range(runs)]
    for future in futures:
        future.result()
    return episodes / took, runs * episodes / (time.perf_counter() - began)


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
    chosen = [own[i % len(own)] for i, own in enumerate(by_setting.values())]
    plans = {"active": 3, "explicit": 4}  # rough relative time of an episode
    return sorted(
        chosen,
        key=lambda cell: cell.episodes * plans.get(cell.updater, 1) * len(cell.world),
        reverse=True,
    )


def compare_cells(cells: Sequence[Cell], folder: Path) -> Iterator[tuple[Cell, bool]]:
    """Yield each of `cells`, and whether all its runs on the CPU are those stored in `folder`."""
    known = stored_digests(folder)
    with processes() as pool:
        pool.submit(run_chain, 5, "active", 10, 0).result()  # compiles, if nothing is compiled
        futures = {pool.submit(run_cell, cell): cell for cell in cells}
        for future in as_completed(futures):
            cell = futures[future]
            yield (
                cell,
                future.result() == [known.get((cell.setting, seed)) for seed in cell.seeds],
            )
