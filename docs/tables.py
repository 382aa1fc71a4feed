"""Write the tables of docs/algorithms.md and docs/theory.md from their studies: `make tables`.

Computes the unfinished cells of the packaged studies algorithms, late-rewards and alpha in
results/, and replaces the tables between their markers. The marker of a table contains the digest
of its cells, so that a test can detect an outdated table.
"""

import hashlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import belated as bl
from belated.sweep.results import Results
from belated.sweep.store import Store
from belated.sweep.study import Study, read_study
from belated.sweep.sweep import sweep
from belated.theory.bonus import BASES
from belated.theory.table import find_row

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
    "kl-ucrl": ("Filippi, Cappé, Garivier 2010", "N', M'", "O(rows that change), × 60 halvings"),
    "chi2-ucrl": ("Neu, Pike-Burke 2020", "N', M', K", "O(HS²A)"),
    "psrl": ("Osband, Russo, Van Roy 2013", "N', M', a prior", "O(HS²A) gamma variables"),
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
    if base not in BASES:
        return "none known"
    order = find_row(base)
    return {
        "active": order.active,
        "lazy:10": order.lazy,
        "explicit": "H^(3/2) S sqrt(AT) + H^2 S tau_max, for its authors' base",
        "multi": f"M f(K/M), f = {order.immediate.text}",
    }[updater]


def mean_regret(results: Results, **where: str) -> float:
    """Return the mean final regret in `results` of the runs with the column values `where`."""
    condition = " AND ".join(f"{column} = ?" for column in where)
    found = results.sql(
        f"SELECT avg(total_regret) AS m FROM runs WHERE {condition}", [*where.values()]
    )
    return float(found["m"][0])


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
    found = (mean_regret(results, world=chain, base=base, updater=updater, delay=d) for d in DELAYS)
    return ", ".join(f"{regret:.0f}" for regret in found)


def late_rewards(results: Results) -> Iterator[str]:
    """Yield the lines of the table from `results` that compares late rewards with late episodes."""
    means = (100, 200, 300, 400, 500)
    yield "| World | Delay | Late | " + " | ".join(f"E[τ] = {mean}" for mean in means) + " |"
    yield "| --- | --- | --- |" + " ---: |" * len(means)
    for world in ("chain-10", "riverswim-6"):
        for law in ("constant", "uniform", "poisson", "geometric"):
            for late in ("everything", "rewards"):
                cells = (
                    f"{mean_regret(results, world=world, delay=f'{law}:{mean}', late=late):,.0f}"
                    for mean in means
                )
                yield f"| {world} | {law} | {late} | {' | '.join(cells)} |"


def alphas(results: Results) -> Iterator[str]:
    """Yield the lines of the table of alphas from `results`: mean final regret and updates."""
    updaters = ("auto", "1", "10", "100", "inf")
    yield "| World | Base | Delay | " + " | ".join(f"α = {a}" for a in updaters) + " | chosen |"
    yield "| --- | --- | --- |" + " ---: |" * (len(updaters) + 1)
    rows = results.sql(
        "SELECT world, base, delay, updater, avg(total_regret) AS regret, avg(updates) AS updates, "
        "avg(alpha) AS alpha FROM runs GROUP BY ALL"
    )
    of = {
        (str(w), str(b), str(d), str(u)): (r, n, a)
        for w, b, d, u, r, n, a in zip(*rows.values(), strict=True)
    }
    for world, base, delay in sorted({key[:3] for key in of}):
        found = [of[world, base, delay, f"lazy:{alpha}"] for alpha in updaters]
        cells = (f"{regret:,.1f} ({n:,.0f})" for regret, n, _ in found)
        yield f"| {world} | {base} | {delay} | {' | '.join(cells)} | {found[0][2]:.2f} |"


TABLES: dict[str, tuple[str, Callable[[Results], Iterator[str]]]] = {
    "algorithms": ("docs/algorithms.md", algorithms),
    "late-rewards": ("docs/algorithms.md", late_rewards),
    "alpha": ("docs/theory.md", alphas),
}
"""Page and function of the lines of each table, by study."""


def digest(study: Study) -> str:
    """Return a digest of all cells of `study`."""
    return hashlib.sha256("".join(cell.digest for cell in study.cells()).encode()).hexdigest()[:16]


def table_block(name: str, lines: str, cells: str) -> str:
    """Return the table `name` of `lines` between markers that contain the digest `cells`."""
    return f"<!-- {name}, cells {cells} -->\n{lines}\n<!-- end of {name} -->"


def block_pattern(name: str) -> re.Pattern[str]:
    """Return a pattern that matches the table `name` and its markers on its page."""
    return re.compile(f"<!-- {name}, cells (\\w*) -->\n(.*?)\n?<!-- end of {name} -->", re.DOTALL)


def main() -> None:
    """Compute missing cells, and write the tables."""
    for name, (page, lines) in TABLES.items():
        study = read_study(name)
        store = Store(ROOT / "results" / name)
        sweep(study.cells(), store)
        block = table_block(name, "\n".join(lines(bl.results(store.folder))), digest(study))
        path = ROOT / page
        text, found = block_pattern(name).subn(lambda _, block=block: block, path.read_text())
        if not found:
            raise SystemExit(f"{page} has no markers for the table {name}.")
        path.write_text(text)
        print(f"{page}: {name}")


if __name__ == "__main__":
    main()
