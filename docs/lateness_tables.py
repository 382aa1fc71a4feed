"""Numbers of docs/lateness-that-tells.md: the bias of estimates, and regrets under dependent laws.

`python docs/tables.py` with the names in `STUDIES` computes what is missing, stores it in
docs/data/lateness-that-tells.json and writes the tables; the tests read the stored numbers.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special

from belated.episode import Floats
from belated.sweep.results import Results
from lateness_bias import BiasTask

DATA = Path(__file__).parent / "data" / "lateness-that-tells.json"
"""File of the stored numbers."""

SMALL_STUDY, ICU_STUDY = "lateness-that-tells", "lateness-that-tells-icu"
STUDIES = (
    SMALL_STUDY,
    ICU_STUDY,
    "lateness-that-tells-icu-q-learning",
    "lateness-that-tells-icu-rlsvi",
    "lateness-that-tells-icu-psrl",
    "lateness-that-tells-updaters",
    "lateness-that-tells-icu-updaters",
    "lateness-that-tells-icu-q-learning-updaters",
    "lateness-that-tells-icu-rlsvi-updaters",
    "lateness-that-tells-icu-psrl-updaters",
)
"""Studies. All but the first two are computed with one of these; see `main_study`."""
ICU = "icu-sepsis-5"
MATURED = "matured:101:active"
UPDATERS = {
    "active": "active",
    "lazy:10": "lazy, α = 10",
    "batched:doubling": "batched, doubling",
    "scheduled:50": "scheduled, every 50",
    MATURED: "matured, 101",
    "explicit": "explicit exploration",
    "multi": "multi-instance",
}
"""Title of the column of each updater in the table of costs."""
COMPARED_UPDATERS = ("active", MATURED)
RARE_UPDATERS = ("scheduled:50", "matured:101:scheduled:50")
"""Two updaters whose biases and regrets are compared under dependent laws: one that counts feedback
at once, and one that waits. The second pair plans every 50 episodes."""
INDEPENDENT = ("geometric:50", "constant:50")

BASES = {
    "ucrl2": "ucrl2:scale=0.03",
    "ucbvi-bf": "ucbvi-bf:preset=two_term,scale=0.03",
    "q-learning": "q-learning:scale=0.03",
    "psrl": "psrl",
    "rlsvi": "rlsvi:scale=0.003",
}
"""Learners, with their options as in the studies."""

LATE, NEVER = "uniform:50", "never:1:constant:0"
MOSTLY_NEVER = "never:0.9:constant:0"

SMALL_LAWS = {
    f"by_return:0=constant:0,0.5={LATE}": "good outcomes late",
    f"by_return:0={LATE},0.5=constant:0": "bad outcomes late",
    f"by_return:0=constant:0,0.5={MOSTLY_NEVER}": "90 % of good outcomes never reported",
    f"by_return:0=constant:0,0.5={NEVER}": "good outcomes never reported",
    f"by_action:0=constant:0,1={LATE}": "first action 1 late",
    f"by_state:2:2={LATE},else=constant:0": "state 2 at step 2 late",
}
"""Description of each dependent law on chain and RiverSwim."""

STAY = "713=constant:0,714=constant:0,715=constant:0"
ICU_LAWS = {
    f"by_state:20:714={LATE},else=constant:0": "survivors late",
    f"by_state:20:714=constant:0,else={LATE}": "all but survivors late",
    f"by_state:20:714={MOSTLY_NEVER},else=constant:0": "90 % of survivors never reported",
    f"by_state:20:714={NEVER},else=constant:0": "survivors never reported",
    f"by_return:0=constant:0,0.5={LATE}": "episodes with a reward late",
    f"by_return:0=constant:0,0.5={MOSTLY_NEVER}": "90 % of episodes with a reward never reported",
    f"by_action:1={LATE},else=constant:0": "first treatment 1 late",
    f"by_state:5:{STAY},else={LATE}": "stays of more than 5 steps late",
}
"""Description of each dependent law on ICU-Sepsis, where 714 is the state of survivors."""

LAWS = {"chain-5": SMALL_LAWS, "riverswim-6": SMALL_LAWS, ICU: ICU_LAWS}
"""Dependent laws of each world, with their descriptions."""

MATCHED = {
    "chain-5": (
        "mixture:0.59=constant:0,0.41=uniform:50",
        "mixture:0.41=constant:0,0.59=uniform:50",
        "never:0.369:constant:0",
        "never:0.41:constant:0",
        "uniform:50",
        "mixture:0.36=constant:0,0.64=uniform:50",
    ),
    "riverswim-6": (
        "mixture:0.18=constant:0,0.82=uniform:50",
        "mixture:0.82=constant:0,0.18=uniform:50",
        "never:0.738:constant:0",
        "never:0.82:constant:0",
        "uniform:50",
        "mixture:0.79=constant:0,0.21=uniform:50",
    ),
    ICU: (
        "mixture:0.21=constant:0,0.79=uniform:50",
        "mixture:0.79=constant:0,0.21=uniform:50",
        "never:0.711:constant:0",
        "never:0.79:constant:0",
        "mixture:0.5=constant:0,0.5=uniform:50",
        "never:0.45:constant:0",
        "mixture:0.89=constant:0,0.11=uniform:50",
        "mixture:0.49=constant:0,0.51=uniform:50",
    ),
}
"""Independent law with the same shares under the optimal policy, for each law of `LAWS`."""

CONTROL = "uniform:50"
"""Independent law under which the bias is measured for comparison."""

BIAS_WORLDS = {SMALL_STUDY: ("chain-5", "riverswim-6"), ICU_STUDY: (ICU,)}
"""Worlds in which the bias is measured, by the study with which it is computed."""
BIAS_SEEDS = range(10)
SMALL_TIMES = tuple(range(100, 2001, 100))
TIMES = {"chain-5": SMALL_TIMES, "riverswim-6": SMALL_TIMES, ICU: tuple(range(50, 501, 50))}
"""Numbers of episodes after which the bias is measured, by world."""
SHOWN = {
    SMALL_STUDY: {"active": (100, 500, 2000), MATURED: (500, 2000)},
    ICU_STUDY: {"active": (100, 250, 500), MATURED: (250, 500)},
}
"""Those of `TIMES` that are in the table of a study, by updater."""

RARELY_PLANNED = {(ICU, "psrl")}
"""Worlds and learners that are measured with RARE_UPDATERS, because a plan takes long."""

DIGITS = {"chain-5": 0, "riverswim-6": 0, ICU: 1}
"""Decimals of regrets in the tables, by world."""

Numbers = dict[str, Any]


def main_study(name: str) -> str:
    """Return the study with which the study `name` is computed: that of small worlds or of ICU."""
    return ICU_STUDY if name.startswith(ICU_STUDY) else SMALL_STUDY


def compared_updaters(world: str, base: str) -> tuple[str, str]:
    """Return the two updaters whose biases and regrets are compared, for `base` in `world`."""
    return RARE_UPDATERS if (world, base) in RARELY_PLANNED else COMPARED_UPDATERS


def learner_name(world: str, base: str) -> str:
    """Return the name of `base` in tables of biases and of regrets under dependent laws."""
    return f"{base}, every 50" if (world, base) in RARELY_PLANNED else base


def bias_tasks(study: str) -> list[BiasTask]:
    """Return the measurements of biases that belong to `study`."""
    return [
        BiasTask(
            world,
            label,
            BASES[label],
            (
                *product((*LAWS[world], CONTROL), compared_updaters(world, label)),
                *(
                    (law, compared_updaters(world, label)[0])
                    for law in dict.fromkeys(MATCHED[world])
                    if law != CONTROL
                ),
            ),
            TIMES[world],
            "pooled" if world == ICU and label != "q-learning" else "each",
            seed,
        )
        for world in BIAS_WORLDS.get(study, ())
        for label in BASES
        for seed in BIAS_SEEDS
    ]


def extract_regrets(results: Results) -> list[Numbers]:
    """Return the final regret and the number of plans of each run, by setting."""
    found = results.sql(
        "SELECT world, base, updater, delay, list(total_regret ORDER BY seed) AS regrets, "
        "avg(epochs) AS plans FROM runs GROUP BY ALL ORDER BY ALL"
    )
    return [
        {
            "world": str(world),
            "base": str(base).removesuffix("-unknown-rewards"),
            "updater": str(updater),
            "delay": str(delay),
            "plans": round(float(plans), 1),
            "regrets": [float(f"{x:.5g}") for x in regrets],
        }
        for world, base, updater, delay, regrets, plans in zip(*found.values(), strict=True)
    ]


def read_stored() -> Numbers:
    """Return the stored numbers; empty if there are none."""
    stored: Numbers = json.loads(DATA.read_text()) if DATA.exists() else {}
    return stored


def write_stored(numbers: Numbers) -> None:
    """Store `numbers`: digests of studies as text, and lists with one line for each setting."""
    parts = []
    for name, value in sorted(numbers.items()):
        lines = json.dumps(value)
        if isinstance(value, list):
            lines = "[\n" + ",\n".join(json.dumps(row) for row in value) + "\n]"
        parts.append(f'"{name}": {lines}')
    DATA.parent.mkdir(exist_ok=True)
    DATA.write_text("{\n" + ",\n".join(parts) + "\n}\n")


def half_width(values: Floats) -> Floats:
    """Return half the width of Student's 95 % confidence interval of means over the first axis."""
    number = len(values)
    quantile = float(special.stdtrit(number - 1, 0.975))
    return np.asarray(quantile * np.std(values, axis=0, ddof=1) / number**0.5)


def interval(values: Sequence[float] | Floats, digits: int = 0, unit: float = 1) -> str:
    """Return the mean of `values` times `unit` with half its 95 % confidence interval, as text."""
    numbers = np.asarray(values) * unit
    mean = round(float(numbers.mean()), digits) + 0.0  # no negative zero
    return f"{mean:,.{digits}f} ± {half_width(numbers):,.{digits}f}"


def bias_table(study: str) -> Iterator[str]:
    """Yield the lines of the table of the biases of `study`, in percent of V*."""
    active, matured = SHOWN[study]["active"], SHOWN[study][MATURED]
    compared = (active[0], active[-1])
    titles = (
        *(f"Active, {time:,}" for time in active),
        *(f"Active − independent, {time:,}" for time in compared),
        *(f"Matured, {time:,}" for time in matured),
    )
    yield f"| World | Law | Learner | {' | '.join(titles)} |"
    yield "| --- | --- | --- |" + " ---: |" * len(titles)
    of = bias_by_setting()
    for world in BIAS_WORLDS[study]:
        matched = dict(zip(LAWS[world], MATCHED[world], strict=True))
        for delay, name in {**LAWS[world], CONTROL: "independent: all late"}.items():
            for base in BASES:
                updaters = compared_updaters(world, base)
                late, old = (of[world, delay, base, updater] for updater in updaters)
                other = of[world, matched.get(delay, CONTROL), base, updaters[0]]
                shown = [(late, time) for time in active]
                shown += [(late - other, time) for time in compared]
                shown += [(old, time) for time in matured]
                cells = [
                    interval(values[:, TIMES[world].index(time)], 1, 100) for values, time in shown
                ]
                if delay == CONTROL:
                    cells[len(active) : -len(matured)] = [""] * len(compared)
                learner = learner_name(world, base)
                yield f"| {world} | {name} | {learner} | {' | '.join(cells)} |"


def group_biases(rows: Sequence[Numbers]) -> list[Numbers]:
    """Return one row for each setting of `rows`, with the biases of all seeds."""
    found: dict[tuple[str, ...], list[list[float]]] = {}
    for row in rows:
        setting = (row["world"], row["delay"], row["base"], row["updater"])
        found.setdefault(setting, []).append(row["bias"])
    names = ("world", "delay", "base", "updater", "bias")
    return [dict(zip(names, (*key, curves), strict=True)) for key, curves in found.items()]


def bias_by_setting() -> dict[tuple[str, str, str, str], Floats]:
    """Return the stored biases, (seeds, times), by world, delay, base and updater."""
    stored = read_stored()
    rows = [row for study in BIAS_WORLDS for row in stored[f"{study} bias"]]
    return {(r["world"], r["delay"], r["base"], r["updater"]): np.array(r["bias"]) for r in rows}


def regrets_by_setting() -> dict[tuple[str, str, str, str], Floats]:
    """Return the stored regrets by world, base, delay and updater."""
    rows = [row for study in STUDIES for row in read_stored()[f"{study} regrets"]]
    return {(r["world"], r["base"], r["delay"], r["updater"]): np.array(r["regrets"]) for r in rows}


def regret_table() -> Iterator[str]:
    """Yield the lines of the table of regrets under dependent and under matched laws."""
    yield (
        "| World | Law | Learner | Active | Active, independent law | Difference | Matured "
        "| Matured − active |"
    )
    yield "| --- | --- | --- |" + " ---: |" * 5
    of = regrets_by_setting()
    for world, laws in LAWS.items():
        for (delay, name), matched in zip(laws.items(), MATCHED[world], strict=True):
            for base in BASES:
                updaters = compared_updaters(world, base)
                active, matured = (of[world, base, delay, updater] for updater in updaters)
                independent = of[world, base, matched, updaters[0]]
                cells = (
                    interval(regrets, DIGITS[world])
                    for regrets in (
                        *(active, independent, active - independent),
                        *(matured, matured - active),
                    )
                )
                learner = learner_name(world, base)
                yield f"| {world} | {name} | {learner} | {' | '.join(cells)} |"


def cost_table() -> Iterator[str]:
    """Yield the lines of the table of the regrets of all updaters under independent laws."""
    yield f"| World | Delay | Learner | {' | '.join(UPDATERS.values())} |"
    yield "| --- | --- | --- |" + " ---: |" * len(UPDATERS)
    of = regrets_by_setting()
    for world, digits in DIGITS.items():
        for delay in INDEPENDENT:
            for base in BASES:
                found = (of[world, base, delay, updater] for updater in UPDATERS)
                cells = (interval(regrets, digits) for regrets in found)
                yield f"| {world} | {delay} | {base} | {' | '.join(cells)} |"
