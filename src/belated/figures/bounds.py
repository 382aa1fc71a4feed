"""What the theorems promise, drawn against the mean delay and against alpha."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from belated.episode import Shape
from belated.figures.looks import DASHES, LOOKS, METADATA, PALETTE, sign
from belated.theory import best_alpha, theorem_1, theorem_2
from belated.theory.bonus import BASES

POINTS: Final = 80
WIDTH: Final = 150
"""Characters of the command on a line."""

GREY: Final = "0.35"
DASHED: Final = (0, DASHES[1])
LINES: Final[dict[str, dict[str, Any]]] = {
    base: {"color": colour, "linewidth": 3 - 0.3 * i}
    for i, (base, colour) in enumerate(zip(BASES, PALETTE, strict=True))
}
"""The later ones are thinner: bounds may be on top of each other."""


@dataclass(frozen=True)
class Problem:
    """What the bounds are about."""

    shape: Shape
    episodes: int
    mean_delay: float
    alpha: float
    delta: float

    def __post_init__(self) -> None:
        for name in ("mean_delay", "alpha"):
            if not np.isfinite(getattr(self, name)):
                raise ValueError(
                    f"{name} is {getattr(self, name)}; only a finite one can be drawn."
                )

    def active(self, base: str, mean_delay: float) -> float:
        """Theorem 1."""
        K, delta = self.episodes, self.delta
        return theorem_1(base, self.shape, episodes=K, mean_delay=mean_delay, delta=delta).total

    def lazy(self, base: str, mean_delay: float, alpha: float) -> float:
        """Theorem 2."""
        return theorem_2(
            base,
            self.shape,
            episodes=self.episodes,
            mean_delay=mean_delay,
            alpha=alpha,
            delta=self.delta,
        ).total

    def best(self, base: str) -> float:
        """The alpha with the least bound."""
        K, mean, delta = self.episodes, self.mean_delay, self.delta
        return best_alpha(self.shape, episodes=K, mean_delay=mean, base=base, delta=delta)


def bound_curves(problem: Problem, path: Path, *, command: str) -> None:
    """Draw both panels into one file, a PDF or a PNG by its name.

    `command` is what makes the figure again, and stands below it.
    """
    kind = path.suffix.lstrip(".").lower()
    if kind not in METADATA:
        raise ValueError(f"path is {path}; its name must end in .pdf or .png.")
    with style.context(["default", LOOKS]):
        figure = drawn(problem, command=command)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, format=kind, dpi=200, metadata=METADATA[kind])


def drawn(problem: Problem, *, command: str) -> Figure:
    """The figure, not yet on disk."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2, sharey=True)
    against_delay(left, problem)
    against_alpha(right, problem)
    left.set_yscale("log")
    most = problem.episodes * problem.shape.horizon
    for axes in (left, right):
        axes.axhline(most, color=GREY, linewidth=1, linestyle="dotted")
    right.annotate(
        "K H: no run can lose more",
        (1, most),
        xycoords=("axes fraction", "data"),
        xytext=(-2, 3),
        textcoords="offset points",
        ha="right",
        fontsize=7,
        color=GREY,
    )
    bases = [Line2D([], [], color=colour) for colour in PALETTE]
    styles = [Line2D([], [], color=GREY), Line2D([], [], color=GREY, linestyle=DASHED)]
    names = ["active", f"lazy, alpha {problem.alpha:g}"]
    figure.legend(bases, BASES, loc="outside right upper", title="Base", alignment="left")
    figure.legend(styles, names, loc="outside right lower", title="Updating", alignment="left")
    sign(figure, command, width=WIDTH)
    return figure


def against_delay(axes: Axes, problem: Problem) -> None:
    """Both theorems for mean delays up to twice the one asked about."""
    means = np.linspace(0, 2 * problem.mean_delay or 100.0, POINTS)
    for base, line in LINES.items():
        active = partial(problem.active, base)
        lazy = partial(problem.lazy, base, alpha=problem.alpha)
        axes.plot(means, [active(x) for x in means], **line)
        axes.plot(means, [lazy(x) for x in means], linestyle=DASHED, **line)
    axes.set_title("Against the mean delay", loc="left")
    axes.set_xlabel("E[tau], episodes")
    axes.set_ylabel("Bound on regret")


def against_alpha(axes: Axes, problem: Problem) -> None:
    """Theorem 2 at the mean delay asked about, with a mark where it is least."""
    alphas = np.geomspace(1, max(1000.0, 2 * problem.alpha), POINTS)
    for base, line in LINES.items():
        lazy = partial(problem.lazy, base, problem.mean_delay)
        axes.plot(alphas, [lazy(x) for x in alphas], linestyle=DASHED, **line)
        best = problem.best(base)
        seen = min(best, alphas[-1])
        marker = "o" if seen == best else ">"
        axes.plot(seen, lazy(best), marker, color=line["color"], markersize=6, clip_on=False)
    axes.set_xscale("log")
    axes.set_title(f"Against alpha at E[tau] = {problem.mean_delay:g}; marks: least", loc="left")
    axes.set_xlabel("alpha of lazy updating")
