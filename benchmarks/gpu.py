"""Compute the runs of the paper on a GPU and with the compiled engine, and compare them.

    python benchmarks/gpu.py paper FOLDER          all runs of the paper, on the GPU, as arrays in
                                                   FOLDER
    python benchmarks/gpu.py compare FOLDER        compute one cell of each setting of the paper
                                                   with the compiled engine, and compare it with
                                                   FOLDER
    python benchmarks/gpu.py cores FOLDER [I/N]    compute all runs of the paper's figures, or part
                                                   I of N, with the compiled engine; compare them,
                                                   too, if FOLDER has any
    python benchmarks/gpu.py store FOLDER RESULTS  write these runs as cells into RESULTS

Different machines can run `paper` and the other commands. Only `store` needs DuckDB and pydantic.
After it, `belated reproduce` finds all cells of the paper in RESULTS. `gpu_check.py` compares other
bases and worlds.
"""

import hashlib
import multiprocessing
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path

import numpy as np

from belated.simulation.run import Run
from belated.sweep.cell import Cell

NUMBERS = (
    *("seed", "updates", "epochs", "max_missing", "optimism_broken", "last_explored"),
    *("longest_delay", "missing", "mean_delay", "psi"),
)
"""Attributes of a `Run` that `paper` stores, besides the regret."""

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_figures(name: str) -> bool:
    """Whether the paper's figures show the setting `name`: explicit exploration on one chain."""
    return "-right" in name or "explicit" not in name


def paper(folder: Path) -> None:
    """Run all cells of the paper, print how long it takes, and write the results to `folder`."""
    from belated.papers.howson2021.grid import PRESETS, cells
    from belated.simulation.gpu.engine import Job, make_jobs, run_jobs

    by_setting: dict[str, list[Cell]] = {}
    for cell in cells(PRESETS["paper"], "figures"):
        by_setting.setdefault(cell.setting, []).append(cell)
    built = {name: own[0].build() for name, own in by_setting.items()}
    jobs: dict[str, list[Job]] = {}
    parts = {"compilation": built, "figures": filter(in_figures, built), "all": built}
    for part, names in parts.items():
        began = time.perf_counter()
        jobs = {}
        for name in names:
            setting = replace(built[name], episodes=60) if part == "compilation" else built[name]
            jobs[name] = make_jobs(
                setting, [seed for cell in by_setting[name] for seed in cell.seeds]
            )
        every = [job for own in jobs.values() for job in own]
        run_jobs(every, lambda batch, before: None)
        seconds = time.perf_counter() - began
        episodes = sum(job.episodes for job in every)
        print(
            f"{part}: {len(every)} runs, {seconds:.1f} s, "
            f"{episodes / seconds / 1e6:.1f} million episodes/s",
            flush=True,
        )
    folder.mkdir(parents=True, exist_ok=True)
    for states in (5, 10, 20, 30):
        own = (f"chain-{states}/", f"chain-{states}-")
        names = [name for name in jobs if name.startswith(own)]
        runs = [job.run for name in names for job in jobs[name]]
        np.savez_compressed(
            folder / f"chain-{states}.npz",
            settings=np.repeat(names, [len(jobs[name]) for name in names]),
            regret=np.stack([run.regret for run in runs]),
            episode=runs[0].episode,
            numbers=np.array([[getattr(run, name) for name in NUMBERS] for run in runs], float),
        )


def store(folder: Path, results: str) -> None:
    """Write the runs in `folder`, as written by `paper`, as cells into the folder `results`."""
    from belated.papers.howson2021.grid import PRESETS, cells
    from belated.sweep.store import Store

    runs = {}
    for file in folder.glob("chain-*.npz"):
        arrays = np.load(file)
        episode = arrays["episode"]
        for name, regret, row in zip(
            arrays["settings"], arrays["regret"], arrays["numbers"].tolist(), strict=True
        ):
            numbers = dict(zip(NUMBERS, row, strict=True))
            for field in set(NUMBERS) - {"longest_delay", "mean_delay", "psi"}:
                numbers[field] = int(numbers[field])
            runs[str(name), numbers["seed"]] = Run(
                episodes=int(episode[-1]), episode=episode, regret=regret, **numbers
            )
    target = Store(results)
    grid = cells(PRESETS["paper"], "figures")
    for cell in grid:
        target.save(cell, [runs[cell.setting, seed] for seed in cell.seeds], 0.0)
    print(f"{len(grid)} cells, {len(runs)} runs in {results}")


def compare_with(folder: Path, found: list[Cell]) -> None:
    """Compute the cells `found` with the compiled engine, compare them with `folder`, and print.

    If `folder` has no runs, the cells are only computed.
    """
    counts = {"same": 0, "different": 0, "not stored": 0}
    stored = any(folder.glob("chain-*.npz"))
    began = time.perf_counter()
    for cell, same in compare_cells(found, folder):
        result = "same" if same else "different" if stored else "not stored"
        counts[result] += 1
        if result == "different" or sum(counts.values()) % 50 == 0:
            print(f"{result} {cell.id}: {counts}", flush=True)
    took = time.perf_counter() - began
    runs = sum(len(cell.seeds) for cell in found)
    print(f"{counts} of {len(found)} cells, {runs} runs, {took:.1f} s on {CORES} cores", flush=True)


def compare(folder: Path) -> None:
    """Compute one cell of each setting with the compiled engine; compare it with `folder`."""
    from belated.papers.howson2021.grid import PRESETS, cells

    compare_with(folder, one_of_each_setting(cells(PRESETS["paper"], "figures")))


def cores(folder: Path, part: str = "1/1") -> None:
    """Compute the runs of the paper's figures with the compiled engine; compare with `folder`.

    The `part` "I/N" selects the cells I, I + N, I + 2 N and so on. All cores of the process are
    used; `taskset -c 0,1` restricts it to two of them.
    """
    from belated.papers.howson2021.grid import PRESETS, cells

    number, parts = (int(x) for x in part.split("/"))
    grid = cells(PRESETS["paper"], "figures")
    found = longest_first(cell for cell in grid if in_figures(cell.setting))
    compare_with(folder, found[number - 1 :: parts])


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
    with ProcessPoolExecutor(CORES, multiprocessing.get_context("spawn")) as pool:
        futures = {pool.submit(run_cell, cell): cell for cell in cells}
        for future in as_completed(futures):
            cell = futures[future]
            expected = [known.get((cell.setting, seed)) for seed in cell.seeds]
            yield cell, future.result() == expected


if __name__ == "__main__":
    command, folder, *others = sys.argv[1:]
    {one.__name__: one for one in (paper, compare, cores, store)}[command](Path(folder), *others)
