"""Figures, comparison with the published numbers, and HTML report of a reproduction."""

from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Self

import numpy as np

from belated.figures.panels import PanelFigure, panel_figure
from belated.figures.report import Section, write_report
from belated.figures.studies import panels_of, repeat_undelayed, take
from belated.figures.styles import LAW_PALETTE
from belated.papers.howson2021 import tables
from belated.papers.howson2021.claims import all_claims
from belated.papers.howson2021.claims.verdict import Verdict
from belated.papers.howson2021.grid import LAWS, LEARNERS, PAID_RIGHT_SUFFIX, Figure, figures
from belated.papers.howson2021.measurements import Measurements
from belated.papers.howson2021.published import PUBLISHED, Comparison, compare, find_errors
from belated.sweep.bands import Columns, Points
from belated.sweep.results import Results


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
        """Return the panels, lines and labels of `figure`.

        A figure of cumulative regret has a panel for each law, with a line for each learner. A
        figure of delay dependence has a panel for each learner but explicit exploration, with a
        line for each law, and the published values.
        """
        world, over_episodes = f"chain-{figure.states}", figure.mean is not None
        learners = {(world, updater): LEARNERS[updater] for updater in figure.updaters}
        if over_episodes:
            right = f"{world}{PAID_RIGHT_SUFFIX}"
            learners[right, "explicit"] = f"{LEARNERS['explicit']}, {right}"
        pairs = zip(self.runs["world"], self.runs["updater"], strict=True)
        names = np.array([learners.get(pair, "") for pair in pairs], object)
        shown = np.isin(self.runs["law"].astype(str), LAWS) & (self.runs["base"] == self.variant)
        shown &= (names != "") & (not over_episodes or self.runs["mean_delay"] == figure.mean)
        runs = take({**self.runs, "learner": names}, np.flatnonzero(shown))
        runs = runs if over_episodes else repeat_undelayed(runs)
        titles = np.array([law.capitalize() for law in runs["law"]], object)
        laws = [law.capitalize() for law in LAWS]
        options: dict[str, Any] = {"title": figure.title, "command": self.command}
        if over_episodes:
            found = panels_of(runs, self.results.curves, "episode", titles, runs["learner"])
            order = [*LEARNERS.values(), *(name for name in learners.values() if name in names)]
            return panel_figure({law: found.get(law, {}) for law in laws}, order=order, **options)
        found = panels_of(runs, self.results.curves, "mean_delay", runs["learner"], titles)
        return panel_figure(
            {name: found.get(name, {}) for name in learners.values()},
            x="mean_delay",
            order=laws,
            palette=LAW_PALETTE,
            published=self._published_points(figure.states),
            **options,
        )

    def _published_points(self, chain: int) -> Points:
        """Return the published final regrets on the chain of `chain` states.

        There are none if our runs have another number of episodes.
        """
        points: dict[str, dict[str, dict[float, float]]] = {}
        if any(row.comparable for row in self.comparisons if row.states == chain):
            for (states, updater, law, mean), value in PUBLISHED.items():
                if states == chain:
                    lines = points.setdefault(LEARNERS[updater], {})
                    lines.setdefault(law.capitalize(), {})[mean] = value
        return points

    def draw(self, figure: Figure, folder: Path) -> list[Path]:
        """Draw `figure` as PDF and PNG in `folder`, and return the paths of both files."""
        return self.describe(figure).save(folder / figure.file_name)

    def write(self, path: Path) -> Path:
        """Write the HTML report to the file `path`, and return the path."""
        return write_report(
            path,
            title=tables.TEXTS["title"],
            text=tables.TEXTS["variants"][self.variant],
            sections=[
                Section(
                    "Figures",
                    figures={figure.name: self.describe(figure) for figure in figures()},
                    tables=[tables.figure_table()],
                ),
                Section(
                    "Published and ours",
                    text=f"{self.agreement()}\n\n{tables.TEXTS['shapes']}",
                    tables=[
                        *tables.comparison_tables(self.comparisons, self.variant),
                        *tables.shape_table(self.comparisons, self.variant),
                    ],
                ),
                Section(
                    "Claims", text=tables.TEXTS["claims"], tables=tables.claim_tables(self.verdicts)
                ),
                Section("Provenance", facts=self.facts()),
            ],
        )

    def agreement(self) -> str:
        """Return the paragraph of the report about the relative errors of our results."""
        selected = find_errors(self.comparisons, "final")
        predicted = find_errors(self.comparisons, "final", selected=False)
        plateaus = find_errors(self.comparisons, "plateau")
        final = selected + predicted
        if not final:
            return "No run is as long as the paper's, so no number can be compared."
        text = (
            f"Mean absolute relative error over {len(final)} published final regrets: "
            f"{fmean(final):.1%}"
        )
        if plateaus:
            text += (
                f"; over {len(plateaus)} plateaus of explicit exploration: "
                f"{fmean(plateaus):.1%}, {max(plateaus):.1%} at most"
            )
        if self.variant != "figures":
            return f"{text}."
        kinds = {"used to select this variant": selected, "that it predicts": predicted}
        parts = "; ".join(
            f"over the {len(found)} values {kind}: {fmean(found):.1%}"
            for kind, found in kinds.items()
            if found
        )
        return (
            f"{text}. Mean absolute relative error of the final regrets {parts}. "
            f"{tables.TEXTS['selection']}"
        )

    def facts(self) -> dict[str, str]:
        """Return a map from names, such as "Versions", to facts about how results were computed."""
        cells = self.results.provenance.values()
        versions = [
            ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
            for facts in cells
        ]
        hours = sum(facts["seconds"] for facts in cells) / 3600
        return {
            "Command": self.command,
            "Variant": self.variant,
            "Runs": f"{self.runs['seed'].size:,}",
            "Episodes": f"{int(self.runs['episodes'].sum()):,}",
            "Seeds": f"{len(set(self.runs['seed'].tolist()))}",
            "Computing time": f"{hours:.2f} hours of one processor",
            "Versions": "; ".join(dict.fromkeys(versions)),
            "Machine": "; ".join(dict.fromkeys(facts["machine"] for facts in cells)),
        }
