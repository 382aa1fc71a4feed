"""Write tables of the docs: `make tables`, or `python docs/tables.py NAME ...` for some of them.

Computes the unfinished cells of the packaged studies algorithms, late-rewards and alpha in
results/, and replaces the tables between their markers. The marker of a table contains the digest
of its cells, so that a test can detect an outdated table. Two tables need no study: `proofs`, from
the declarations of the bases, and `calibrations`, from a file of `belated calibrate --table`.

The longer studies bases-under-delay, calibrated-with-delay, delay-scaling, delay-scaling-means,
lateness-that-tells and lateness-that-tells-icu are computed only if they are named; the last two
include the studies whose names begin with theirs. Their numbers are stored in docs/data, from which
the tables are written.

A mean of runs is shown with half the width of its 95 % confidence interval.
"""

import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import bases_tables
import belated as bl
import calibrated_tables
import lateness_tables
import scaling_tables
from belated.learner.bases import BASES as BASE_CLASSES
from belated.sweep.results import Results
from belated.sweep.store import Store
from belated.sweep.study import Study, read_study
from belated.sweep.sweep import sweep
from belated.theory import TABLE_1
from belated.theory.bonus import BASES
from lateness_bias import measure
from measured import digest, extract, mean_text, read_data, write_data

ROOT = Path(__file__).parent.parent

UPDATERS = {
    "active": "active",
    "lazy:10": "lazy, α = 10",
    "explicit": "explicit exploration",
    "multi": "multi-instance",
}
CHAINS = ("chain-5", "chain-10", "chain-20")
DELAYS = ("constant:0", "geometric:100", "geometric:500")

OPTIMISTIC_NEEDS = ("N', M'", "O(rows that change)")
ABOUT = {  # source, what it needs, cost of an update
    "ubev": ("Dann, Lattimore, Brunskill 2017", *OPTIMISTIC_NEEDS),
    "ucbvi-ch": ("Azar, Osband, Munos 2017", "N', M', K", OPTIMISTIC_NEEDS[1]),
    "ucbvi-bf": ("Azar, Osband, Munos 2017", "N', M', K", OPTIMISTIC_NEEDS[1]),
    "ucrl2": ("Jaksch, Ortner, Auer 2010", "N', M', K", "O(rows that change), all if max V moves"),
    "ucrl2b": ("Fruit, Pirotta, Lazaric 2020", "N', M'", "O(HSA Γ), sorted by V"),
    "kl-ucrl": (
        "Filippi, Cappé, Garivier 2010",
        "N', M'",
        "O(rows that change), × about 4 Newton steps",
    ),
    "chi2-ucrl": ("Neu, Pike-Burke 2020", "N', M', K", "O(HS²A)"),
    "psrl": ("Osband, Russo, Van Roy 2013", "N', M', a prior", "O(HS²A) gamma variables"),
    "rlsvi": ("Russo 2019", "N', M', k", "O(HSA Γ), HSA normal variables"),
    "q-learning": ("Jin et al. 2018", "Q, the order of arrival, K", "O(H) an episode"),
    "epsilon-greedy": ("baseline", "N', M'", "O(rows that change)"),
    "random": ("baseline", "nothing", "none"),
    "optimal": ("baseline", "the world", "none"),
}


def guarantee(base: str, updater: str) -> str:
    """Return the known regret bound of `base` with `updater` under delay, as text."""
    if base == "optimal":
        return "none: explores all the same" if updater == "explicit" else "regret 0"
    if base == "q-learning" and updater == "multi":
        return "M f(K/M), f = H^2 sqrt(SAT)"
    if base == "rlsvi" and updater == "multi":
        return "M f(K/M), f = H^(5/2) S^(3/2) sqrt(AT), in expectation"
    if base in ("psrl", "rlsvi"):
        return "none for this algorithm; for linear MDPs Kuang et al. 2023"
    if base not in BASES:
        return "none known"
    order = next(row for row in TABLE_1 if row.base == base)
    return {
        "active": order.active,
        "lazy:10": order.lazy,
        "explicit": "H^(3/2) S sqrt(AT) + H^2 S tau_max, for its authors' procedure",
        "multi": f"M f(K/M), f = {order.immediate.text}",
    }[updater]


def regret_text(results: Results, **where: str) -> str:
    """Return the mean final regret in `results` of the runs with the column values `where`."""
    condition = " AND ".join(f"{column} = ?" for column in where)
    found = results.sql(f"SELECT total_regret FROM runs WHERE {condition}", [*where.values()])
    return mean_text(found["total_regret"])


def algorithms(results: Results) -> Iterator[str]:
    """Yield the lines of the table of bases and updaters from `results`."""
    chains = " | ".join(f"{chain}: E[τ] = 0, 100, 500" for chain in CHAINS)
    yield f"| Base | Updater | Source | Needs | Cost of an update | Regret under delay | {chains} |"
    yield "|" + " --- |" * 6 + " ---: |" * 3
    for base, about in ABOUT.items():
        for updater, name in UPDATERS.items():
            regrets = (regret_cell(results, base, updater, chain) for chain in CHAINS)
            cells = (f"`{base}`", name, *about, guarantee(base, updater), *regrets)
            yield f"| {' | '.join(cells)} |"


def regret_cell(results: Results, base: str, updater: str, chain: str) -> str:
    """Return the final regrets of `base` and `updater` on `chain` in `results`, as text."""
    where = {"world": chain, "base": base, "updater": updater}
    return ", ".join(regret_text(results, **where, delay=delay) for delay in DELAYS)


def late_rewards(results: Results) -> Iterator[str]:
    """Yield the lines of the table from `results` that compares late rewards with late episodes."""
    means = (100, 200, 300, 400, 500)
    yield "| World | Delay | Late | " + " | ".join(f"E[τ] = {mean}" for mean in means) + " |"
    yield "| --- | --- | --- |" + " ---: |" * len(means)
    for world in ("chain-10", "riverswim-6"):
        for law in ("constant", "uniform", "poisson", "geometric"):
            for late in ("everything", "rewards"):
                cells = (
                    regret_text(results, world=world, delay=f"{law}:{mean}", late=late)
                    for mean in means
                )
                yield f"| {world} | {law} | {late} | {' | '.join(cells)} |"


def alphas(results: Results) -> Iterator[str]:
    """Yield the lines of the table of alphas from `results`: mean final regret and updates."""
    updaters = ("auto", "1", "10", "100", "inf")
    yield "| World | Base | Delay | " + " | ".join(f"α = {a}" for a in updaters) + " | chosen |"
    yield "| --- | --- | --- |" + " ---: |" * (len(updaters) + 1)
    rows = results.sql(
        "SELECT world, base, delay, updater, list(total_regret) AS regrets, "
        "avg(updates) AS updates, avg(alpha) AS alpha FROM runs GROUP BY ALL"
    )
    of = {
        (str(w), str(b), str(d), str(u)): (r, n, a)
        for w, b, d, u, r, n, a in zip(*rows.values(), strict=True)
    }
    for world, base, delay in sorted({key[:3] for key in of}):
        found = [of[world, base, delay, f"lazy:{alpha}"] for alpha in updaters]
        cells = (f"{mean_text(regrets, 1)} ({n:,.0f})" for regrets, n, _ in found)
        yield f"| {world} | {base} | {delay} | {' | '.join(cells)} | {found[0][2]:.2f} |"


def proofs() -> Iterator[str]:
    """Yield the lines of the table of what is proved, from the declarations of the bases."""
    yield "| Base | Options | Optimism proved by | Counts | Remark |"
    yield "| --- | --- | --- | --- | --- |"
    for base in ABOUT:
        for proof in BASE_CLASSES[base].proofs:
            options = ", ".join(f"`{name}={value}`" for name, value in proof.options.items())
            cells = (
                f"`{base}`",
                options or "all",
                proof.by or "**none**",
                proof.counts,
                proof.note,
            )
            yield f"| {' | '.join(cells)} |".replace("|  |", "| |")


CALIBRATED_PAGE = "docs/reproduction-calibrated.md"
LATENESS_PAGE = "docs/lateness-that-tells.md"

PLAIN_TABLES: dict[str, tuple[str, Callable[[], Iterator[str]]]] = {
    "proofs": ("docs/algorithms.md", proofs),
    "calibrations": (CALIBRATED_PAGE, calibrated_tables.calibrations),
    "calibrated-claims": (CALIBRATED_PAGE, calibrated_tables.claims),
    "lateness-bias": (
        LATENESS_PAGE,
        partial(lateness_tables.bias_table, lateness_tables.SMALL_STUDY),
    ),
    "lateness-bias-icu": (
        LATENESS_PAGE,
        partial(lateness_tables.bias_table, lateness_tables.ICU_STUDY),
    ),
    "lateness-regret": (LATENESS_PAGE, lateness_tables.regret_table),
    "lateness-cost": (LATENESS_PAGE, lateness_tables.cost_table),
}
"""Page and function of the lines of each table that needs no study, by name."""

BASES_PAGE = "docs/bases-under-delay.md"

TABLES: dict[str, tuple[str, Callable[[Results], Iterator[str]]]] = {
    "algorithms": ("docs/algorithms.md", algorithms),
    "late-rewards": ("docs/algorithms.md", late_rewards),
    "alpha": ("docs/theory.md", alphas),
}
"""Page and function of the lines of each table, by study."""


STORED_STUDIES = {
    "bases-under-delay": (1,),
    "calibrated-with-delay": (1,),
    "delay-scaling": (1,),
    "delay-scaling-means": (8, 4, 2, 1),
}
"""Checkpoints whose regrets are stored in docs/data, by study: fractions 1/n of the episodes."""

STORED_TABLES: dict[str, tuple[str, tuple[str, ...], Callable[..., Iterator[str]]]] = {
    "bases-regrets": (BASES_PAGE, ("bases-under-delay",), bases_tables.regrets),
    "bases-optimism": (BASES_PAGE, ("bases-under-delay",), bases_tables.optimism),
    "bases-ranking": (BASES_PAGE, ("bases-under-delay",), bases_tables.ranking),
    "calibrated-variants": (
        CALIBRATED_PAGE,
        ("calibrated-with-delay",),
        calibrated_tables.variants,
    ),
    "exponents": (
        "docs/scaling.md",
        ("delay-scaling", "delay-scaling-means"),
        scaling_tables.exponents,
    ),
}
"""Page, studies and function of the lines of each table that is written from docs/data, by name.
The function takes the stored rows of each study."""


def stored_block(name: str) -> str:
    """Return the table `name` of `STORED_TABLES` between its markers, from docs/data."""
    _, studies, lines = STORED_TABLES[name]
    stored = [read_data(study) for study in studies]
    text = "\n".join(lines(*(rows for _, rows in stored)))
    return table_block(name, text, "".join(cells for cells, _ in stored))


def table_block(name: str, lines: str, cells: str) -> str:
    """Return the table `name` of `lines` between markers that contain the digest `cells`."""
    return f"<!-- {name}, cells {cells} -->\n{lines}\n<!-- end of {name} -->"


def block_pattern(name: str) -> re.Pattern[str]:
    """Return a pattern that matches the table `name` and its markers on its page."""
    opening = f"<!-- {name}(?:, cells (\\w*))? -->"
    return re.compile(f"{opening}\n(.*?)\n?<!-- end of {name} -->", re.DOTALL)


def replace_table(name: str, page: str, block: str) -> None:
    """Replace the table `name` on the `page` by `block`, which includes the markers."""
    path = ROOT / page
    text, found = block_pattern(name).subn(lambda _: block, path.read_text())
    if not found:
        raise SystemExit(f"{page} has no markers for the table {name}.")
    path.write_text(text)
    print(f"{page}: {name}")


def main(wanted: list[str]) -> None:
    """Compute missing cells, and write the tables named in `wanted`, or all if it is empty."""
    for name in lateness_tables.STUDIES:
        if {name, lateness_tables.main_study(name)} & set(wanted):
            store_lateness(name)
    for name, (page, plain_lines) in PLAIN_TABLES.items():
        of_study = page == LATENESS_PAGE and set(wanted) & set(lateness_tables.STUDIES)
        if name in wanted or of_study or not wanted:
            text = "\n".join(plain_lines())
            replace_table(name, page, f"<!-- {name} -->\n{text}\n<!-- end of {name} -->")
    for name, (page, lines) in TABLES.items():
        if wanted and name not in wanted:
            continue
        study, results = computed(name)
        replace_table(
            name, page, table_block(name, "\n".join(lines(results)), digest(study.cells()))
        )
    for name, fractions in STORED_STUDIES.items():
        if name in wanted:
            study, results = computed(name)
            write_data(name, digest(study.cells()), extract(results, fractions))
    for name, (page, studies, _) in STORED_TABLES.items():
        if not wanted or name in wanted or set(studies) & set(wanted):
            replace_table(name, page, stored_block(name))


def computed(name: str) -> tuple[Study, Results]:
    """Compute the unfinished cells of the study `name`; return the study and its results."""
    study, store = read_study(name), Store(ROOT / "results" / name)
    sweep(study.cells(), store)
    return study, bl.results(store.folder)


def store_lateness(name: str) -> None:
    """Compute the study `name`, one of `lateness_tables.STUDIES`, and store its numbers."""
    study, results = computed(name)
    stored = lateness_tables.read_stored()
    stored[f"{name} cells"] = digest(study.cells())
    stored[f"{name} regrets"] = lateness_tables.extract_regrets(results)
    tasks = lateness_tables.bias_tasks(name)
    if tasks:
        biases = measure(tasks, ROOT / "results" / f"{name}-bias")
        stored[f"{name} bias"] = lateness_tables.group_biases(biases)
    lateness_tables.write_stored(stored)


if __name__ == "__main__":
    main(sys.argv[1:])
