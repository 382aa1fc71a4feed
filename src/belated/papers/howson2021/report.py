"""Figures, comparison with the published numbers, and HTML report of a reproduction."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from belated.figures.panels import PanelFigure, delay_figure, regret_figure
from belated.figures.report import Section, citation, provenance, write_report
from belated.papers.howson2021.claims import Verdict, all_claims
from belated.papers.howson2021.grid import (
    LAWS,
    LEARNERS,
    PAID_RIGHT_SUFFIX,
    Figure,
    figures,
)
from belated.papers.howson2021.measurements import Measurements
from belated.papers.howson2021.published import PUBLISHED, Comparison, compare, summarize
from belated.papers.howson2021.tables import (
    CLAIM_RULE,
    SHAPE_TEXT,
    claim_tables,
    comparison_tables,
    figure_table,
    shape_table,
)
from belated.sweep.bands import Panels, Points, delay_bands, published_points, regret_bands
from belated.sweep.results import Results
from belated.sweep.store import Columns

TITLE: Final = "Optimism and Delays in Episodic Reinforcement Learning, reproduced"

DELAY_FIGURE_LEARNERS: Final = {
    updater: name for updater, name in LEARNERS.items() if updater != "explicit"
}
"""Map from each updater in the paper's figures of delay dependence to its name in them.

These figures do not show explicit exploration.
"""

VARIANT_TEXTS: Final = {
    "figures": (
        "The base is a variant of UCBVI-BF that was found by search to fit the published curves: "
        "counts pooled over the steps, no clipping, a constant in place of the logarithm. It "
        "describes the figures and carries no guarantee. Explicit exploration runs on both chains: "
        "on chain-S, where it is compared with the other learners, and on chain-S-right, whose "
        "last state gives a reward only for the action right, where it is compared with the "
        "published plateaus. All other learners run on chain-S."
    ),
    "calibrated": (
        "The base is UCBVI-BF with counts for each step, clipped as in the paper's Eq. 4, and a "
        "two-term Bernstein bonus, scaled for each chain to the smallest value at which optimism "
        "held in at least 95 % of calibration runs without delay."
    ),
    "calibrated-with-delay": (
        "The base is UCBVI-BF with counts for each step, clipped as in the paper's Eq. 4, and a "
        "two-term Bernstein bonus, scaled for each chain and each delay to the smallest value at "
        "which optimism held in at least 98 of 100 calibration runs of active updating with this "
        "delay. This is what we recommend."
    ),
    "literal": (
        "The base is UCBVI-BF with the published constants and counts for each step. Optimism is "
        "proved for these constants only without delay, with pooled counts and monotone values. At "
        "these numbers of episodes the base hardly learns."
    ),
}
"""Map from each variant of the base to the paragraph of the report that describes it."""


@dataclass(frozen=True)
class PaperReport:
    """Results with one variant of the base, and their comparison with the paper."""

    results: Results
    runs: Columns
    """Final results, with one row per run."""
    variant: str
    command: str
    """Command that reproduces the results."""
    comparisons: list[Comparison]
    """Comparisons of published numbers with our results."""
    verdicts: list[Verdict]
    """Verdict on each claim of the paper."""

    @classmethod
    def from_results(cls, results: Results, variant: str, command: str) -> Self:
        """Return a report that compares results with the paper's numbers and claims.

        Parameters
        ----------
        results : Results
            Results with one variant of the base.
        variant : str
            Name of the variant, one of `belated.papers.howson2021.grid.VARIANTS`.
        command : str
            Command that reproduces the results.

        Returns
        -------
        PaperReport
            The results with all comparisons and verdicts.
        """
        runs = results.runs()
        comparisons = compare(runs, results.curves)
        verdicts = all_claims(runs, results.curves, Measurements.load(results.store.folder))
        return cls(results, runs, variant, command, comparisons, verdicts)

    def panels(self, figure: Figure) -> tuple[Panels, Sequence[str], Points | None]:
        """Return the panels of `figure`, the labels of its lines, and the published points.

        The labels are in the order of the legend. The points are None if `figure` does not show
        published values.
        """
        world = f"chain-{figure.states}"
        if figure.mean is not None:
            paid_right = world + PAID_RIGHT_SUFFIX
            name = f"{LEARNERS['explicit']}, {paid_right}"
            panels, extra = (
                regret_bands(
                    self.runs,
                    self.results.curves,
                    world=chain,
                    base=self.variant,
                    mean=figure.mean,
                    laws=LAWS,
                    learners=learners,
                )
                for chain, learners in ((world, LEARNERS), (paid_right, {"explicit": name}))
            )
            lines = {law: {**panels[law], **extra[law]} for law in panels}
            shown = [*LEARNERS.values(), *([name] if any(extra.values()) else [])]
            return lines, shown, None
        points = None
        if any(row.comparable for row in self.comparisons if row.states == figure.states):
            values: dict[tuple[str, str, float], float] = {
                (updater, law, mean): value
                for (states, updater, law, mean), value in PUBLISHED.items()
                if states == figure.states
            }
            points = published_points(values, laws=LAWS, learners=DELAY_FIGURE_LEARNERS)
        panels = delay_bands(
            self.runs, world=world, base=self.variant, laws=LAWS, learners=DELAY_FIGURE_LEARNERS
        )
        return panels, [law.capitalize() for law in LAWS], points

    def draw(self, figure: Figure, folder: Path) -> list[Path]:
        """Draw `figure` as PDF and PNG in `folder`, and return the paths of both files."""
        path = folder / f"{figure.number:02}-{figure.name}"
        return self.describe(figure).save(path)

    def describe(self, figure: Figure) -> PanelFigure:
        """Return the panels, lines and labels of `figure`."""
        panels, order, points = self.panels(figure)
        title, command = figure.title, self.command
        if figure.kind == "regret":
            return regret_figure(panels, title=title, command=command, order=order)
        return delay_figure(panels, title=title, command=command, order=order, published=points)

    def write(self, path: Path) -> Path:
        """Write the HTML report to the file `path`, and return the path."""
        return write_report(
            path,
            title=TITLE,
            text=VARIANT_TEXTS[self.variant],
            sections=[
                Section(
                    "Figures",
                    figures={figure.name: self.describe(figure) for figure in figures()},
                    tables=[figure_table()],
                ),
                Section(
                    "Published and ours",
                    text=f"{self.agreement()}\n\n{SHAPE_TEXT}",
                    tables=[
                        *comparison_tables(self.comparisons, self.variant),
                        *shape_table(self.comparisons, self.variant),
                    ],
                ),
                Section("Claims", text=CLAIM_RULE, tables=claim_tables(self.verdicts)),
                provenance(self.facts()),
                citation(),
            ],
        )

    def agreement(self) -> str:
        """Return the paragraph of the report about the relative errors of our results."""
        errors = summarize(self.comparisons)
        if not errors.cells:
            return "No run is as long as the paper's, so no number can be compared."
        text = (
            f"Mean absolute relative error over {errors.cells} published final regrets: "
            f"{errors.overall:.1%}"
        )
        if errors.plateaus:
            text += (
                f"; over {errors.plateaus} plateaus of explicit exploration: {errors.plateau:.1%}, "
                f"{errors.worst_plateau:.1%} at most"
            )
        text += "."
        if self.variant == "figures":
            parts = [
                f"over the {cells} values {kind}: {error:.1%}"
                for kind, cells, error in (
                    ("used to select this variant", errors.selected_cells, errors.selected),
                    ("that it predicts", errors.predicted_cells, errors.predicted),
                )
                if cells
            ]
            text += (
                f" Mean absolute relative error of the final regrets {'; '.join(parts)}. Selection "
                "used the values without delay of all chains, all values of the chains of 5 and 10 "
                "states, and the plateaus; the predicted values are those of the chains of 20 and "
                "30 states under delay."
            )
        return text

    def facts(self) -> dict[str, str]:
        """Return a map from names, such as "Versions", to facts about how results were computed."""
        cells = self.results.provenance.values()
        versions = Counter(
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
            "Versions": "; ".join(versions),
            "Machine": "; ".join(machines),
        }
