"""Compare runs of many settings on the GPU with those of the compiled engine.

    python benchmarks/gpu_check.py reference FILE [TEXT]    compute runs with the compiled engine
    python benchmarks/gpu_check.py check FILE [TEXT]        compute them on the GPU, and compare

Different machines can run the two commands. TEXT selects the settings whose names contain it.
"""

import hashlib
import json
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

from belated.mdp.worlds import world as parse_world
from belated.papers.howson2021.base import Published
from belated.simulation.run import Run
from belated.simulation.simulation import Simulation

SEEDS = (0, 1, 7)
PUBLISHED = {"base": Published(ties="random"), "stages": "pooled"}
UPDATERS = ("active", "lazy:1", "lazy:10", "lazy:100", "explicit")
LAWS = ("constant:0", "constant:40", "uniform:40", "poisson:40", "geometric:40")
BASES = (
    *("ucbvi-ch", "ucbvi-bf:preset=two_term,scale=0.1", "ucbvi-bf", "ucbvi-bf:scale=0.01"),
    *("ucbvi-bf:preset=emp_bernstein", "ucbvi-bf:preset=simplified_bernstein,ties=random"),
    *("ucrl2", "ucrl2:form=bonus,scale=0.1", "ucrl2:scale=0.1,monotone=true"),
    *("chi2-ucrl:scale=0.1", "chi2-ucrl:form=bonus", "epsilon-greedy:epsilon=0.2", "random"),
    *("ubev:scale=0.1", "ucrl2b:scale=0.1", "ucrl2b:form=bonus", "kl-ucrl:scale=0.1"),
    *("kl-ucrl:form=bonus", "psrl", "optimal"),
)
WORLDS = (
    "garnet-10-3-6",
    "frozen-lake-4x4",
    "riverswim-6",
    "deep-sea-5",
    "garnet-40-3-10",
    "grid-3x4",
)
FIELDS = (
    *("seed", "episodes", "episode", "regret", "updates", "epochs", "max_missing"),
    *("optimism_broken", "last_explored", "longest_delay", "missing", "mean_delay", "psi"),
    "in_flight",
)


def digest(run: Run) -> str:
    """Return a digest of all numbers of `run`."""
    found = hashlib.sha256()
    for name in FIELDS:
        found.update(np.ascontiguousarray(getattr(run, name)).tobytes())
    return found.hexdigest()[:16]


def settings() -> dict[str, Simulation]:
    """Return the settings to compare, by name."""
    found = {}

    def add(name: str, world: str, **options: object) -> None:
        title = f"{world} {name} {options['delay']} {options['updater']}"
        found[title] = lambda: Simulation(world=parse_world(world), **options)

    for states in (5, 10, 20, 30):
        for law in LAWS:
            for updater in UPDATERS:
                options = {"delay": law, "updater": updater, "episodes": 1500}
                add("published", f"chain-{states}", **PUBLISHED, **options)
    for base in BASES:
        for updater, law in (
            ("active", "geometric:20"),
            ("lazy:10", "never:0.1:poisson:20"),
            ("explicit", "uniform:20"),
        ):
            for stages in ("each", "pooled"):
                options = {"delay": law, "updater": updater, "episodes": 600, "stages": stages}
                add(f"{base} {stages}", "chain-8", base=base, **options)
    for world in WORLDS:
        for base in ("ucbvi-bf:preset=two_term,scale=0.1", "ucrl2:scale=0.1"):
            for updater in ("active", "explicit"):
                options = {"delay": "geometric:20", "updater": updater, "episodes": 300}
                add(f"{base} each", world, base=base, **options)
    return found


def build(wanted: str = "") -> dict[str, Simulation]:
    """Return the settings whose name contains `wanted`; say which cannot be built."""
    built = {}
    for name, make in settings().items():
        if wanted in name:
            try:
                built[name] = make()
            except (ImportError, ValueError, TypeError) as error:
                print(f"skipped {name}: {error}", flush=True)
    return built


def reference(file: Path, wanted: str = "") -> None:
    """Compute the runs with the compiled engine and write their digests to `file`."""
    known = json.loads(file.read_text()) if file.exists() else {}
    for name, setting in build(wanted).items():
        if name not in known:
            runs = [setting.run(seed) for seed in SEEDS]
            known[name] = [[digest(run), run.total_regret, run.updates] for run in runs]
            file.write_text(json.dumps(known, indent=0))


def check(file: Path, wanted: str = "") -> None:
    """Compute the runs on the GPU, and compare them with those in `file`."""
    from belated.simulation.gpu.engine import make_jobs, run_jobs
    from belated.simulation.gpu.kinds import why_not_on_gpu

    known = json.loads(file.read_text())
    jobs, counts = {}, Counter()
    for name, setting in build(wanted).items():
        if reason := why_not_on_gpu(setting):
            counts[f"not on the GPU: {reason}"] += 1
        elif name in known:
            jobs[name] = make_jobs(setting, SEEDS)
    began = time.perf_counter()
    run_jobs([job for own in jobs.values() for job in own], lambda batch, before: None)
    print(f"{len(jobs)} settings, {time.perf_counter() - began:.1f} s with compilation")
    for name, own in jobs.items():
        for job, (expected, regret, updates) in zip(own, known[name], strict=True):
            same = digest(job.run) == expected
            counts["same" if same else "different"] += 1
            if not same:
                got = job.run.total_regret
                print(
                    f"DIFFERENT {name} seed {job.seed}: regret {regret!r} {got!r}, "
                    f"updates {updates} {job.run.updates}"
                )
    for what, number in counts.items():
        print(f"{number:5d} {what}")


if __name__ == "__main__":
    command, file, *others = sys.argv[1:]
    {"reference": reference, "check": check}[command](Path(file), *others)
