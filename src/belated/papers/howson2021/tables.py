"""Tables and texts of a reproduction, for its HTML report and its Markdown page."""

import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from belated.figures.report import Table, Value
from belated.papers.howson2021.claims.verdict import Answer, Verdict
from belated.papers.howson2021.grid import CHAINS, LEARNERS, figures
from belated.papers.howson2021.published import Comparison, Shape, compare_shapes
from belated.papers.statistics import Interval

TEXTS: Final = tomllib.loads(Path(__file__).with_name("texts.toml").read_text(encoding="utf-8"))
"""Texts of the report: its title, the paragraphs that explain how claims are judged, how shapes are
compared and what selected the variant "figures", and a paragraph for each variant of the base."""


def comparison_tables(comparisons: Sequence[Comparison], variant: str) -> list[Table]:
    """Return a table of `comparisons` for each chain. Chains without comparisons are omitted.

    `variant` is the variant of the base. If it is "figures", the tables have a further column: its
    value is "selection" for published numbers that were used to select the variant, and
    "prediction" for all others.
    """
    formats = {"Error": "+.1%", "E[τ]": ".0f"}
    tables = []
    for states in CHAINS:
        rows: list[dict[str, Value]] = [
            {
                "Learner": LEARNERS[one.updater]
                + (f" (plateau, {one.world})" * (one.kind == "plateau")),
                "Delays": one.law.capitalize() if one.mean else "none",
                "E[τ]": one.mean,
                "Published": one.published,
                "Ours": one.ours,
                "2.5%": one.low,
                "97.5%": one.high,
                "Error": one.error if one.comparable else None,
                **_use(one, variant),
            }
            for one in comparisons
            if one.states == states
        ]
        tables += _table(f"Chain of {states} states.", rows, formats)
    return tables


def _use(one: Comparison | Shape, variant: str) -> dict[str, Value]:
    """Return the last cell of a row, with its heading; empty unless the variant is "figures"."""
    use = "selection" if one.selected else "prediction"
    return {"Used in": use} if variant == "figures" else {}


def _table(
    caption: str, rows: Sequence[Mapping[str, Value]], formats: Mapping[str, str]
) -> list[Table]:
    """Return a list with a table, whose `rows` map headings to values, or [] without rows."""
    values = [tuple(row.values()) for row in rows]
    return [Table(caption, tuple(rows[0]), values, formats)] if rows else []


def shape_table(comparisons: Sequence[Comparison], variant: str) -> list[Table]:
    """Return a list with one table, which compares the shapes of the curves of delay dependence.

    The list is empty if no curve can be compared. `comparisons` and `variant` are as in
    `comparison_tables`.
    """
    caption = (
        "Shapes of delay dependence: regret divided by that without delay, slopes per 1,000 "
        "episodes of E[τ], with the 95 % bootstrap interval of our slope over seeds."
    )
    rows: list[dict[str, Value]] = [
        {
            "States": one.states,
            "Learner": LEARNERS[one.updater],
            "Delays": one.law.capitalize(),
            "Points": one.points,
            "Published slope": 1000 * one.published_slope,
            "Our slope": 1000 * one.slope,
            "95 % interval": f"{1000 * one.interval.low:.2f} to {1000 * one.interval.high:.2f}"
            if one.interval
            else "",
            "Largest difference": one.distance,
            **_use(one, variant),
        }
        for one in compare_shapes(comparisons)
    ]
    formats = {"Published slope": ".2f", "Our slope": ".2f", "Largest difference": ".3f"}
    return _table(caption, rows, formats)


def figure_table() -> Table:
    """Return a table with the number of each figure in the paper, and its file name and title."""
    rows = sorted((figure.published_number, figure.file_name, figure.title) for figure in figures())
    return Table(
        "Figures of the paper, and their files here.", ("In the paper", "File", "Title"), rows
    )


def claim_tables(verdicts: Sequence[Verdict]) -> list[Table]:
    """Return three tables: the verdicts, the rules of the claims, and the measured values.

    `verdicts` contains one verdict per claim. A rule is the condition under which a claim holds in
    a setting.
    """
    answers: tuple[Answer, ...] = ("confirmed", "refuted", "not resolved", "says nothing")
    counted = [f"{answer.capitalize()} in" for answer in answers]
    outcomes = Table(
        "Claims of the paper, and their verdicts in these runs, with the numbers of settings.",
        ("Claim", "Where", "Verdict", *counted),
        [(one.claim, one.where, one.verdict, *map(one.count, answers)) for one in verdicts],
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
            for label, value in verdict.numbers.items()
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
            one["numbers"] = {label: value(number) for label, number in one["numbers"].items()}
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
        lines += ["### Shapes", "", TEXTS["shapes"], "", table.caption, "", *format_markdown(table)]
    figure_numbers = figure_table()
    lines += ["### Figures", "", figure_numbers.caption, "", *format_markdown(figure_numbers)]
    outcomes = [(verdict.claim, verdict.outcome) for verdict in verdicts]
    claims = Table("Claims", ("Claim", "Outcome"), outcomes)
    return "\n".join([*lines, "### Claims", "", TEXTS["claims"], "", *format_markdown(claims)])


def format_markdown(table: Table) -> list[str]:
    """Return `table` as lines of Markdown, with an empty line at the end."""
    lines = [table.columns, ["---"] * len(table.columns), *table.cells(default=",.0f")]
    return [f"| {' | '.join(line)} |".replace("−", "-") for line in lines] + [""]
