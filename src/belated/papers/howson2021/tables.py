"""Tables of a reproduction, for its HTML report and its Markdown page."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from belated.figures.report import Table, Value
from belated.papers.howson2021.claims.verdict import Verdict
from belated.papers.howson2021.grid import CHAINS, LEARNERS, figures
from belated.papers.howson2021.published import Comparison, compare_shapes
from belated.papers.statistics import Interval

CLAIM_RULE: Final = (
    "Each claim is tested in every setting that it is about, by 95 % confidence intervals that are "
    "paired by seed. A setting confirms the claim if its interval excludes the opposite, refutes "
    "it if its interval excludes the claim, and does not resolve it otherwise. The false "
    "discovery rate over the settings of a claim is at most 2.5 % in each direction "
    "(Benjamini and Yekutieli, because settings share seeds and the tests are dependent). A claim "
    "is confirmed if all settings confirm it, refuted if any setting refutes it, and otherwise not "
    "resolved. Learners are compared only on the same chain."
)
"""Paragraph of the report that explains how claims are judged."""

SHAPE_TEXT: Final = (
    "Shapes are compared for the published curves of final regret against E[τ], divided by the "
    "regret without delay. Curves of regret over episodes cannot be compared, because their data "
    "are not published: only final values and plateaus could be read from the figures."
)
"""Paragraph of the report that explains the comparison of the shapes of curves."""


def comparison_tables(comparisons: Sequence[Comparison], variant: str) -> list[Table]:
    """Return a table of `comparisons` for each chain. Chains without comparisons are omitted.

    `variant` is the variant of the base. If it is "figures", the tables have a further column: its
    value is "selection" for published numbers that were used to select the variant, and
    "prediction" for all others.
    """
    tables = []
    last = ("Used in",) if variant == "figures" else ()
    columns = ("Learner", "Delays", "E[τ]", "Published", "Ours", "2.5%", "97.5%", "Error", *last)
    for states in CHAINS:
        rows = [
            (
                LEARNERS[row.updater] + (f" (plateau, {row.world})" * (row.kind == "plateau")),
                row.law.capitalize() if row.mean else "none",
                row.mean,
                row.published,
                row.ours,
                row.low,
                row.high,
                row.error if row.comparable else None,
                *(_use(row.selected) for _ in last),
            )
            for row in comparisons
            if row.states == states
        ]
        formats = {"Error": "+.1%", "E[τ]": ".0f"}
        if rows:
            tables.append(Table(f"Chain of {states} states.", columns, rows, formats))
    return tables


def _use(selected: bool) -> str:
    return "selection" if selected else "prediction"


def shape_table(comparisons: Sequence[Comparison], variant: str) -> list[Table]:
    """Return a list with one table, which compares the shapes of the curves of delay dependence.

    The list is empty if no curve can be compared. `comparisons` and `variant` are as in
    `comparison_tables`.
    """
    last = ("Used in",) if variant == "figures" else ()
    columns = (
        *("States", "Learner", "Delays", "Points", "Published slope", "Our slope"),
        *("95 % interval", "Largest difference", *last),
    )
    rows: list[Sequence[Value]] = [
        (
            shape.states,
            LEARNERS[shape.updater],
            shape.law.capitalize(),
            shape.points,
            1000 * shape.published_slope,
            1000 * shape.slope,
            f"{1000 * shape.interval.low:.2f} to {1000 * shape.interval.high:.2f}"
            if shape.interval
            else "",
            shape.distance,
            *(_use(shape.selected) for _ in last),
        )
        for shape in compare_shapes(comparisons)
    ]
    caption = (
        "Shapes of delay dependence: regret divided by that without delay, slopes per 1,000 "
        "episodes of E[τ], with the 95 % bootstrap interval of our slope over seeds."
    )
    formats = {"Published slope": ".2f", "Our slope": ".2f", "Largest difference": ".3f"}
    return [Table(caption, columns, rows, formats)] if rows else []


def figure_table() -> Table:
    """Return a table with the number of each figure in the paper, and its file name and title."""
    rows = sorted(
        (figure.published_number, f"{figure.number:02}-{figure.name}", figure.title)
        for figure in figures()
    )
    return Table(
        "Figures of the paper, and their files here.", ("In the paper", "File", "Title"), rows
    )


def claim_tables(verdicts: Sequence[Verdict]) -> list[Table]:
    """Return three tables: the verdicts, the rules of the claims, and the measured values.

    `verdicts` contains one verdict per claim. A rule is the condition under which a claim holds in
    a setting.
    """
    outcomes = Table(
        "Claims of the paper, and their verdicts in these runs, with the numbers of settings.",
        (
            *("Claim", "Where", "Verdict", "Confirmed in", "Refuted in", "Not resolved in"),
            "Says nothing in",
        ),
        [
            (
                *(one.claim, one.where, one.verdict, one.count("confirmed"), one.count("refuted")),
                *(one.count("not resolved"), one.count("says nothing")),
            )
            for one in verdicts
        ],
    )
    rules = Table(
        "Rules of the claims.",
        ("Claim", "Holds in a setting if"),
        [(one.name, one.rule) for one in verdicts],
    )
    numbers = Table(
        "Numbers behind the outcomes.",
        ("Claim", "Number", "Value"),
        [
            (verdict.name, label, value if isinstance(value, int | float) else str(value))
            for verdict in verdicts
            for label, value in verdict.numbers
        ],
    )
    return [outcomes, rules, numbers]


def format_claims(verdicts: Sequence[Verdict]) -> str:
    """Return all `verdicts`, with the results in each setting, as JSON text.

    An interval is written as an object with the keys estimate, low and high. NaN is written as
    null.
    """

    def value(number: object) -> Any:
        if isinstance(number, Interval):
            return number._asdict()
        return None if isinstance(number, float) and math.isnan(number) else number

    found = []
    for verdict in verdicts:
        facts = asdict(verdict)
        for one in (facts, *facts["details"]):
            one["numbers"] = {label: value(number) for label, number in one["numbers"]}
        found.append(facts)
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def format_numbers_page(
    agreement: str, comparisons: Sequence[Comparison], verdicts: Sequence[Verdict], variant: str
) -> str:
    """Return a Markdown page with the numbers of a reproduction.

    Parameters
    ----------
    agreement : str
        First paragraph of the page, about the errors of our results.
    comparisons : sequence of Comparison
        Comparisons of published numbers with our results.
    verdicts : sequence of Verdict
        Verdict on each claim.
    variant : str
        Variant of the base.

    Returns
    -------
    str
        The page.
    """
    lines = [agreement, ""]
    for table in comparison_tables(comparisons, variant):
        lines += [f"### {table.caption}", "", *format_markdown(table)]
    for table in shape_table(comparisons, variant):
        lines += ["### Shapes", "", SHAPE_TEXT, "", table.caption, "", *format_markdown(table)]
    figure_numbers = figure_table()
    lines += ["### Figures", "", figure_numbers.caption, "", *format_markdown(figure_numbers)]
    lines += ["### Claims", "", CLAIM_RULE, "", "| Claim | Outcome |", "| --- | --- |"]
    lines += [f"| {verdict.claim} | {verdict.outcome} |" for verdict in verdicts]
    return "\n".join([*lines, ""])


def format_markdown(table: Table) -> list[str]:
    """Return `table` as lines of Markdown, with an empty line at the end."""

    def cell(name: str, value: object) -> str:
        if value is None:
            return "–"
        form = table.formats.get(name, ",.0f")
        return format(value, form) if isinstance(value, int | float) else str(value)

    rows = [
        [cell(name, value) for name, value in zip(table.columns, row, strict=True)]
        for row in table.rows
    ]
    lines = [table.columns, ["---"] * len(table.columns), *rows]
    return [f"| {' | '.join(line)} |" for line in lines] + [""]
