"""Compare the GPU engine with the compiled engine, and measure its speed.

    python benchmarks/gpu.py reference FILE    compute runs with the compiled engine
    python benchmarks/gpu.py check FILE        compute them on the GPU, and compare
    python benchmarks/gpu.py speed             episodes per second by number of states and learner,
                                               on the GPU, on one CPU core and on all cores
    python benchmarks/gpu.py latency           time per episode of a run on chain 30
    ncu --kernel-name regex:run_slice --launch-skip 1 python benchmarks/gpu.py profile
                                               what the kernel of such runs waits for
    python benchmarks/gpu.py paper [FOLDER]    all runs of the paper, as arrays in FOLDER
    python benchmarks/gpu.py compare FOLDER    compute one cell of each setting of the paper with
                                               the compiled engine, and compare it with FOLDER
    python benchmarks/gpu.py cores FOLDER [I/N]    compute all runs of the paper's figures, or part
                                               I of N, with the compiled engine; compare them, too,
                                               if FOLDER has any
    python benchmarks/gpu.py store FOLDER RESULTS    write these runs as cells into RESULTS
    python benchmarks/gpu.py page              write the measurements to docs/performance.md

Different machines can run `reference` and `check`, or `paper` and `store`. Only `store` needs
DuckDB and pydantic. After it, `belated reproduce` finds all cells of the paper in RESULTS.
Measurements are stored in out/gpu/results.json, from which `page` makes its tables.
"""

import sys
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from belated.simulation.run import Run
from belated.sweep.cell import Cell
from gpu_check import check, reference
from gpu_cores import (
    CORES,
    NUMBERS,
    UPDATERS,
    chain_setting,
    compare_cells,
    cpu_rates,
    longest_first,
    one_of_each_setting,
    processes,
)
from gpu_power import Power
from gpu_tables import record, write_tables


def run_timed(jobs: list) -> tuple[float, float | None]:
    """Run `jobs`, and print the time of each part.

    Return the time of the simulation in seconds, and the mean power of the GPU in watts meanwhile.
    """
    from belated.simulation.gpu import engine

    began = time.perf_counter()
    took = {}

    def note(name: str) -> None:
        nonlocal began
        took[name] = time.perf_counter() - began
        began = time.perf_counter()

    for prepared in {id(job.prepared): job.prepared for job in jobs}.values():
        engine.check_backup(prepared.kind.backup, prepared.problem)
    note("self-test")
    tables = engine.draw_all_delays(jobs)
    note("delay tables")
    jobs = sorted(jobs, key=lambda job: job.work, reverse=True)
    groups = engine.divide_groups(engine.group_jobs(jobs))
    batches = [engine.Batch(group, tables, rank) for rank, group in enumerate(groups)]
    engine.cuda.synchronize()
    note("memory")
    ends, said = {}, 0.0
    start = time.perf_counter()

    def on_slice(batch: object, before: int) -> None:
        nonlocal said
        now = time.perf_counter() - start
        if batch.finished:
            ends[id(batch)] = now
        if now > said + 2.0:
            said = now
            shares = " ".join(f"{one.played.sum() / one.episodes.sum():.3f}" for one in batches)
            print(f"   {now:.1f} s: {shares}", flush=True)

    with Power() as power:
        engine.play_batches(batches, on_slice)
        note("simulation")
    print(", ".join(f"{name} {seconds:.2f} s" for name, seconds in took.items()), flush=True)
    if len(batches) > 1:
        for batch in batches:
            sizes = batch.kind.sizes
            print(
                f"   S={sizes.S} {batch.jobs[0].prepared.setting.updater} {len(batch.jobs)} runs: "
                f"finished after {ends[id(batch)]:.2f} s"
            )
    return took["simulation"], power.mean_w


def speed(
    seeds: int = 3000, episodes: int = 10_000, states: tuple[int, ...] = (5, 10, 20, 30)
) -> None:
    """Print the number of episodes per second by number of states and learner.

    The GPU plays `seeds` runs of `episodes` episodes at once, and a CPU core plays such runs one
    after another.
    """
    from belated.simulation.gpu.engine import make_jobs, run_jobs

    rows = []
    with processes() as pool:
        for S in states:
            for updater in UPDATERS:
                began = time.perf_counter()
                warm = make_jobs(chain_setting(S, updater, "geometric:300", 10), range(4))
                run_jobs(warm, lambda batch, before: None)
                compiled = time.perf_counter() - began
                setting = chain_setting(S, updater, "geometric:300", episodes)
                jobs = make_jobs(setting, range(seeds))
                took, _ = run_timed(jobs)
                plans = np.mean([job.run.epochs for job in jobs]) / episodes
                one, every = cpu_rates(pool, S, updater, episodes)
                rows.append((S, updater, plans, seeds * episodes / took, one, every, compiled))
                print(
                    f"S={S:3d} {updater:10s} {seeds} runs of {episodes}: {took:.2f} s, "
                    f"{rows[-1][3] / 1e6:.1f} million episodes/s, one core {one / 1e6:.3f}, "
                    f"{CORES} cores {every / 1e6:.2f}; {plans:.3f} plans per episode "
                    f"(compilation {compiled:.1f} s)",
                    flush=True,
                )
                record("speed", {"cores": CORES, "seeds": seeds, "K": episodes, "rows": rows})


def time_slice(updater: str, runs: int, episodes: int) -> float:
    """Return the seconds in which `runs` runs on chain 30 play all `episodes` in one slice."""
    from belated.simulation.gpu import engine

    jobs = engine.make_jobs(chain_setting(30, updater, "constant:100", episodes), range(runs))
    batch = engine.Batch(jobs, engine.draw_all_delays(jobs))
    engine.cuda.synchronize()
    began = time.perf_counter()
    batch.launch(10**9)
    engine.cuda.synchronize()
    return time.perf_counter() - began


def latency(episodes: int = 3000, few: int = 528, many: int = 2112) -> None:
    """Print the time per episode on chain 30 with a plan in each episode, for few and many runs."""
    rows = []
    for updater in ("active", "explicit"):
        time_slice(updater, 4, 50)  # compiles
        for runs in (few, many):
            took = time_slice(updater, runs, episodes)
            rows.append((updater, runs, took / episodes, runs * episodes / took))
            print(
                f"{updater:10s} {runs} runs of {episodes}: {took / episodes * 1e6:.1f} µs per "
                f"episode of a run, {runs * episodes / took / 1e6:.2f} million episodes/s",
                flush=True,
            )
    record("latency", {"K": episodes, "rows": rows})


def profile(runs: int = 2112, episodes: int = 300) -> None:
    """Launch the kernel of active updating twice: once to compile it, and once for `ncu`."""
    time_slice("active", 4, 50)
    time_slice("active", runs, episodes)


def in_figures(names: Iterable[str]) -> list[str]:
    """Return the settings that the paper's figures show: explicit exploration on one chain only."""
    return [name for name in names if "-right" in name or "explicit" not in name]


def paper(folder: Path | None = None, seeds: int = 30) -> None:
    """Run all cells of the paper, print how long it takes, and write the results to `folder`."""
    from dataclasses import replace

    from belated.papers.howson2021.grid import PRESETS, cells
    from belated.simulation.gpu.engine import make_jobs

    began = time.perf_counter()
    grid = cells(replace(PRESETS["paper"], seeds=seeds), "figures")
    by_setting: dict[str, list] = {}
    for cell in grid:
        by_setting.setdefault(cell.setting, []).append(cell)
    built = {name: own[0].build() for name, own in by_setting.items()}
    print(f"{len(grid)} cells, {len(built)} settings: {time.perf_counter() - began:.1f} s to build")
    parts = {"compile": list(built), "figures": in_figures(built), "all": list(built)}
    for part, names in parts.items():
        began = time.perf_counter()
        jobs = {}
        for name in names:
            setting = replace(built[name], episodes=60) if part == "compile" else built[name]
            seeds_of = [seed for cell in by_setting[name] for seed in cell.seeds]
            jobs[name] = make_jobs(setting, seeds_of)
        every = [job for own in jobs.values() for job in own]
        print(f"{part}: {len(every)} jobs, {time.perf_counter() - began:.1f} s to prepare")
        took, watts = run_timed(every)
        total = sum(job.episodes for job in every)
        whole = time.perf_counter() - began
        print(
            f"{part}: {len(every)} runs, {took:.1f} s ({whole:.1f} s with preparation), "
            f"{total / took / 1e6:.1f} million episodes/s, mean power {watts} W",
            flush=True,
        )
        numbers = {"runs": len(every), "episodes": total, "took_s": took, "whole_s": whole}
        record(f"paper {part}", {**numbers, "watts": watts})
    if folder is not None:
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


def compare_with(folder: Path, found: list[Cell], name: str) -> None:
    """Compute the cells `found` with the compiled engine, compare them with `folder`, and print.

    If `folder` has no runs, the cells are only computed. The measurement is stored under `name`.
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
    episodes = sum(cell.episodes * len(cell.seeds) for cell in found)
    record(name, {**counts, "took_s": took, "cores": CORES, "episodes": episodes})


def compare(folder: Path) -> None:
    """Compute one cell of each setting with the compiled engine; compare it with `folder`."""
    from belated.papers.howson2021.grid import PRESETS, cells

    compare_with(folder, one_of_each_setting(cells(PRESETS["paper"], "figures")), "compare")


def cores(folder: Path, part: str = "1/1") -> None:
    """Compute the runs of the paper's figures with the compiled engine; compare with `folder`.

    The `part` "I/N" selects the cells I, I + N, I + 2 N and so on. All cores of the process are
    used; `taskset -c 0,1` restricts it to two of them.
    """
    from belated.papers.howson2021.grid import PRESETS, cells

    number, parts = (int(x) for x in part.split("/"))
    grid = cells(PRESETS["paper"], "figures")
    found = longest_first(cell for cell in grid if in_figures([cell.setting]))
    compare_with(folder, found[number - 1 :: parts], "cores")


def page() -> None:
    """Write the tables of the measurements to docs/performance.md."""
    write_tables(Path(__file__).parents[1] / "docs" / "performance.md")


ON_FILES = {one.__name__: one for one in (reference, check, paper, compare, cores, store)}
ON_NUMBERS = {one.__name__: one for one in (speed, latency, profile, page)}

if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    if command in ON_FILES:
        ON_FILES[command](*(Path(one) for one in arguments[:1]), *arguments[1:])
    else:
        ON_NUMBERS[command](*(int(x) for x in arguments))
