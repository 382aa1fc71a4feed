"""Figures, comparison with the published numbers, and HTML report of a reproduction."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from belated.figures.panels import PanelFigure, panel_figure
from belated.figures.report import Section, citation, write_report
from belated.figures.studies import panels_of, repeat_undelayed, take
from belated.figures.styles import LAW_PALETTE
from belated.papers.howson2021.claims import all_claims
from belated.papers.howson2021.claims.verdict import Verdict
from belated.papers.howson2021.grid import (
    LAWS,
    LEARNERS,
    PAID_RIGHT_SUFFIX,
    Figure,
    figures,
)
from belated.papers.howson2021.measurements import Measurements
from belated.papers.howson2021.published import PUBLISHED, Comparison, compare, find_errors
from belated.papers.howson2021.tables import (
    CLAIM_RULE,
    SHAPE_TEXT,
    claim_tables,
    comparison_tables,
    figure_table,
    shape_table,
)
from belated.sweep.bands import Columns
from belated.sweep.results import Results

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
            Name of the variant, one of the values of `belated.papers.howson2021.grid.Variant`.
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

    def describe(self, figure: Figure) -> PanelFigure:
        """Return the panels, lines and labels of `figure`."""
        if figure.mean is None:
            return self._delay_figure(figure)
        world = f"chain-{figure.states}"
        paid_right = f"{LEARNERS['explicit']}, {world}{PAID_RIGHT_SUFFIX}"
        shown = {(world, updater): name for updater, name in LEARNERS.items()}
        shown[world + PAID_RIGHT_SUFFIX, "explicit"] = paid_right
        runs, lines = self._select(shown, figure.mean)
        found = panels_of(runs, self.results.curves, "episode", _law_titles(runs), lines)
        return panel_figure(
            {law.capitalize(): found.get(law.capitalize(), {}) for law in LAWS},
            title=figure.title,
            command=self.command,
            order=[*LEARNERS.values(), *([paid_right] if paid_right in lines else [])],
        )

    def _delay_figure(self, figure: Figure) -> PanelFigure:
        """Return the panels of `figure`, which shows delay dependence, with the published values.

        There is a panel for each learner, with a line for each law.
        """
        world = f"chain-{figure.states}"
        shown = {(world, updater): name for updater, name in DELAY_FIGURE_LEARNERS.items()}
        chosen, names = self._select(shown)
        runs = repeat_undelayed({**chosen, "learner": names})
        curves = self.results.curves
        found = panels_of(runs, curves, "mean_delay", runs["learner"], _law_titles(runs))
        points: dict[str, dict[str, dict[float, float]]] = {}
        if any(row.comparable for row in self.comparisons if row.states == figure.states):
            for (states, updater, law, mean), value in PUBLISHED.items():
                if states == figure.states:
                    lines = points.setdefault(DELAY_FIGURE_LEARNERS[updater], {})
                    lines.setdefault(law.capitalize(), {})[mean] = value
        return panel_figure(
            {name: found.get(name, {}) for name in DELAY_FIGURE_LEARNERS.values()},
            title=figure.title,
            command=self.command,
            x="mean_delay",
            order=[law.capitalize() for law in LAWS],
            palette=LAW_PALETTE,
            published=points,
        )

    def _select(
        self, shown: Mapping[tuple[str, str], str], mean: float | None = None
    ) -> tuple[Columns, NDArray[Any]]:
        """Return the runs to show under the paper's laws, and the label of the line of each.

        `shown` maps pairs of a world and an updater to labels. If `mean` is given, only runs with
        this expected delay are returned.
        """
        pairs = list(zip(self.runs["world"], self.runs["updater"], strict=True))
        kept = np.isin(self.runs["law"].astype(str), LAWS) & (self.runs["base"] == self.variant)
        kept &= np.array([pair in shown for pair in pairs])
        if mean is not None:
            kept &= self.runs["mean_delay"] == mean
        rows = np.flatnonzero(kept)
        return take(self.runs, rows), np.array([shown[pairs[row]] for row in rows], object)

    def draw(self, figure: Figure, folder: Path) -> list[Path]:
        """Draw `figure` as PDF and PNG in `folder`, and return the paths of both files."""
        path = folder / f"{figure.number:02}-{figure.name}"
        return self.describe(figure).save(path)

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
                Section("Provenance", facts=self.facts()),
                citation(),
            ],
        )

    def agreement(self) -> str:
        """Return the paragraph of the report about the relative errors of our results."""
        errors = find_errors(self.comparisons)
        final = errors.selected + errors.predicted
        if not final:
            return "No run is as long as the paper's, so no number can be compared."
        text = (
            f"Mean absolute relative error over {len(final)} published final regrets: "
            f"{fmean(final):.1%}"
        )
        if errors.plateaus:
            text += (
                f"; over {len(errors.plateaus)} plateaus of explicit exploration: "
                f"{fmean(errors.plateaus):.1%}, {max(errors.plateaus):.1%} at most"
            )
        text += "."
        if self.variant == "figures":
            parts = [
                f"over the {len(found)} values {kind}: {fmean(found):.1%}"
                for kind, found in (
                    ("used to select this variant", errors.selected),
                    ("that it predicts", errors.predicted),
                )
                if found
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


def _law_titles(runs: Columns) -> NDArray[Any]:
    return np.array([law.capitalize() for law in runs["law"]], object)
