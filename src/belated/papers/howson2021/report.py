"""What `belated reproduce` makes of its results: figures, published numbers, claims, a report."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from belated.figures.bands import Panels
from belated.figures.charts import Chart, delay_chart, regret_chart
from belated.figures.columns import Points, delay_bands, published_points, regret_bands
from belated.figures.panels import delay_panels, regret_panels
from belated.figures.report import Section, Table, citation, provenance, write_report
from belated.papers.howson2021.claims import Verdict, all_claims
from belated.papers.howson2021.evidence import on_one_chain
from belated.papers.howson2021.grid import CHAINS, LAWS, LEARNERS, Figure, figures
from belated.papers.howson2021.published import PUBLISHED, Comparison, compare, summary
from belated.sweep.results import Results
from belated.sweep.store import Columns

if TYPE_CHECKING:
    from rich.table import Table as RichTable

TITLE = "Optimism and Delays in Episodic Reinforcement Learning, reproduced"
LAZY = {updater: name for updater, name in LEARNERS.items() if updater != "explicit"}
"""The learners in the paper's figures of delay dependence."""

READING = {
    "figures": (
        "The base is a reading of UCBVI-BF that was found by search to fit the published curves: "
        "counts pooled over the steps, no clipping, a constant in place of the logarithm. It "
        "describes the figures and carries no guarantee."
    ),
    "calibrated": (
        "The base is UCBVI-BF with counts for each step, clipped as in the paper's Eq. 4, and a "
        "two-term Bernstein bonus, scaled for each chain to the smallest value at which optimism "
        "held in at least 95 % of calibration runs. This is what we recommend."
    ),
    "literal": (
        "The base is UCBVI-BF with the published constants, which carry the guarantee. At these "
        "numbers of episodes it hardly learns."
    ),
}


@dataclass(frozen=True)
class Paper:
    """The results of one variant, and the command that makes them again."""

    results: Results
    runs: Columns
    variant: str
    command: str

    def panels(self, figure: Figure) -> tuple[Panels, Sequence[str], Points | None]:
        """What a figure shows, its lines in order, and the published points beside them."""
        world = f"chain-{figure.states}"
        if figure.mean is not None:
            shown = regret_bands(
                self.runs,
                self.results.curves,
                world=world,
                base=self.variant,
                mean=figure.mean,
                laws=LAWS,
                learners=LEARNERS,
            )
            return shown, list(LEARNERS.values()), None
        points = None
        if self.comparable(figure.states):
            points = published_points(
                {
                    (updater, law, mean): value
                    for (states, updater, law, mean), value in PUBLISHED.items()
                    if states == figure.states
                },
                laws=LAWS,
                learners=LAZY,
            )
        shown = delay_bands(self.runs, world=world, base=self.variant, laws=LAWS, learners=LAZY)
        return shown, [law.capitalize() for law in LAWS], points

    def comparable(self, states: int) -> bool:
        """Whether the runs of a chain are as long as the paper's."""
        return any(one.comparable for one in self.comparisons() if one.states == states)

    def comparisons(self) -> list[Comparison]:
        """Published numbers and ours."""
        return compare(self.runs, self.results.curves)

    def draw(self, figure: Figure, folder: Path) -> list[Path]:
        """One of the sixteen figures, as PDF and PNG."""
        panels, order, points = self.panels(figure)
        path = folder / f"{figure.number:02}-{figure.name}"
        if figure.kind == "regret":
            return regret_panels(
                panels, path, title=figure.title, command=self.command, order=order
            )
        return delay_panels(
            panels, path, title=figure.title, command=self.command, order=order, published=points
        )

    def chart(self, figure: Figure) -> Chart:
        """The same to click on."""
        panels, order, points = self.panels(figure)
        name, title = figure.name, figure.title
        if figure.kind == "regret":
            return regret_chart(panels, name, title=title, command=self.command, order=order)
        return delay_chart(
            panels, name, title=title, command=self.command, order=order, published=points
        )

    def report(self, path: Path, verdicts: Sequence[Verdict]) -> Path:
        """Everything in one file."""
        return write_report(
            path,
            title=TITLE,
            text=READING[self.variant],
            sections=[
                Section("Figures", charts=[self.chart(figure) for figure in figures()]),
                Section(
                    "Published and ours",
                    text=self.verdict(),
                    tables=comparison_tables(self.comparisons()),
                ),
                Section("Claims", tables=claim_tables(verdicts)),
                provenance(self.facts()),
                citation(),
            ],
        )

    def verdict(self) -> str:
        """How far ours are from the published numbers, in a sentence."""
        found = summary(self.comparisons())
        if not found.cells:
            return "No run is as long as the paper's, so no number can be compared."
        text = (
            f"Mean absolute relative error over {found.cells} published final regrets: "
            f"{found.overall:.1%}"
        )
        if found.plateaus:
            text += (
                f"; over {found.plateaus} plateaus of explicit exploration: {found.plateau:.1%}, "
                f"{found.worst_plateau:.1%} at most"
            )
        return f"{text}."

    def facts(self) -> dict[str, str]:
        """Where the numbers come from."""
        cells = self.results.provenance.values()
        made = Counter(
            ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
            for facts in cells
        )
        machines = Counter(facts["machine"] for facts in cells)
        hours = sum(facts["seconds"] for facts in cells) / 3600
        return {
            "Command": self.command,
            "Variant": self.variant,
            "Runs": f"{self.runs['seed'].size:,}",
            "Episodes": f"{int(self.runs['episodes'].sum()):,}",
            "Seeds": f"{len(set(self.runs['seed'].tolist()))}",
            "Computing time": f"{hours:.2f} hours of one processor",
            "Versions": "; ".join(made),
            "Machine": "; ".join(machines),
        }


def comparison_tables(comparisons: Sequence[Comparison]) -> list[Table]:
    """A table for each chain."""
    tables = []
    for states in CHAINS:
        rows = [
            (
                LEARNERS[one.updater] + (" (plateau)" if one.kind == "plateau" else ""),
                one.law.capitalize() if one.mean else "none",
                one.mean,
                one.published,
                one.ours,
                one.low,
                one.high,
                one.error if one.comparable else None,
            )
            for one in comparisons
            if one.states == states
        ]
        columns = ("Learner", "Delays", "E[τ]", "Published", "Ours", "2.5%", "97.5%", "Error")
        formats = {"Error": "+.1%", "E[τ]": ".0f"}
        if rows:
            tables.append(Table(f"Chain of {states} states.", columns, rows, formats))
    return tables


def numbers_page(paper: Paper, verdicts: Sequence[Verdict]) -> str:
    """Published numbers beside ours and the outcome of every claim, as Markdown."""
    lines = [paper.verdict(), ""]
    for table in comparison_tables(paper.comparisons()):
        lines += [f"### {table.caption}", "", *markdown(table)]
    lines += ["### Claims", "", "| Claim | Outcome |", "| --- | --- |"]
    lines += [f"| {one.claim} | {one.outcome} |" for one in verdicts]
    return "\n".join([*lines, ""])


def markdown(table: Table) -> list[str]:
    """A table of the report as Markdown."""

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


def claim_tables(verdicts: Sequence[Verdict]) -> list[Table]:
    """Claims and outcomes, then the numbers behind each."""
    overview = Table(
        "What the paper says, and what these runs say.",
        ("Claim", "Where", "Holds in a setting if", "Outcome"),
        [(one.claim, one.where, one.rule, one.outcome) for one in verdicts],
    )
    behind = Table(
        "The numbers behind the outcomes.",
        ("Claim", "Number", "Value"),
        [
            (one.name, label, value if isinstance(value, int | float) else str(value))
            for one in verdicts
            for label, value in one.numbers
        ],
    )
    return [overview, behind]


def claims_on_terminal(verdicts: Sequence[Verdict]) -> "RichTable":
    """Claims and outcomes."""
    from rich import box
    from rich.table import Table as RichTable

    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("Claim", ratio=3)
    table.add_column("Outcome", ratio=2)
    for one in verdicts:
        table.add_row(one.claim, one.outcome)
    return table


def judged(results: Results, variant: str, command: str) -> tuple[Paper, list[Verdict]]:
    """The paper as these results have it, and the verdict on each of its claims."""
    paper = Paper(results, on_one_chain(results.runs()), variant, command)
    return paper, all_claims(paper.runs, results.curves)
