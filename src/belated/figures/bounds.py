"""Figure of the regret bounds of Theorems 1 and 2 against the mean delay and against alpha."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from belated.episode import Shape
from belated.figures.styles import DASHES, DPI, METADATA, PALETTE, RC_PARAMS, add_command
from belated.theory import best_alpha, theorem_1, theorem_2
from belated.theory.bonus import BASES

POINTS_PER_CURVE: Final = 80
COMMAND_LINE_CHARS: Final = 150
GREY: Final = "0.35"
DASHED: Final = (0, DASHES[1])
LINE_PROPERTIES: Final[dict[str, dict[str, Any]]] = {
    base: {"color": colour, "linewidth": 3 - 0.3 * i}
    for i, (base, colour) in enumerate(zip(BASES, PALETTE, strict=True))
}
"""Map from the name of a base to the Matplotlib properties of its lines.

Lines drawn later are thinner, so that an earlier line with the same values stays visible.
"""


@dataclass(frozen=True)
class BoundParameters:
    """Parameters of the regret bounds. The mean delay and alpha must be finite."""

    shape: Shape
    episodes: int
    mean_delay: float  # episodes
    alpha: float
    delta: float

    def __post_init__(self) -> None:
        for name in ("mean_delay", "alpha"):
            if not np.isfinite(getattr(self, name)):
                raise ValueError(f"{name} must be finite to be drawn, got {getattr(self, name)}.")

    def active_bound(self, base: str, mean_delay: float) -> float:
        """Return the regret bound of Theorem 1 for `base` with active updating.

        The bound is computed for `mean_delay`, in episodes, instead of the attribute of this name.
        """
        K, delta = self.episodes, self.delta
        return theorem_1(base, self.shape, episodes=K, mean_delay=mean_delay, delta=delta).total

    def lazy_bound(self, base: str, mean_delay: float, alpha: float) -> float:
        """Return the regret bound of Theorem 2 for `base` with lazy updating.

        The bound is computed for `mean_delay`, in episodes, and `alpha`, instead of the attributes
        of these names.
        """
        K, mean, delta = self.episodes, mean_delay, self.delta
        bound = theorem_2(base, self.shape, episodes=K, mean_delay=mean, alpha=alpha, delta=delta)
        return bound.total

    def best_alpha(self, base: str) -> float:
        """Return the alpha that minimizes the bound of Theorem 2 for `base`.

        It is infinite if the bound is smallest with active updating.
        """
        K, mean, delta = self.episodes, self.mean_delay, self.delta
        return best_alpha(self.shape, episodes=K, mean_delay=mean, base=base, delta=delta)


def bound_curves(parameters: BoundParameters, path: Path, *, command: str) -> None:
    """Write the figure of the regret bounds to a file.

    Parameters
    ----------
    parameters : BoundParameters
        Parameters of the bounds.
    path : Path
        File to write. Its suffix must be .pdf or .png; otherwise ValueError is raised.
    command : str
        Command that reproduces the figure, printed below it.
    """
    kind = path.suffix.lstrip(".").lower()
    if kind not in METADATA:
        raise ValueError(f"path must end in .pdf or .png, got {path}.")
    with style.context(["default", RC_PARAMS]):
        figure = build_figure(parameters, command=command)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, format=kind, dpi=DPI, metadata=METADATA[kind])


def build_figure(parameters: BoundParameters, *, command: str) -> Figure:
    """Return the figure of the regret bounds for `parameters`, without saving it.

    `command` is the command that reproduces the figure; it is printed below the figure.
    """
    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    draw_against_delay(left, parameters)
    draw_against_alpha(right, parameters)
    left.set_yscale("log")
    max_regret = parameters.episodes * parameters.shape.horizon
    for axes in (left, right):
        axes.axhline(max_regret, color=GREY, linewidth=1, linestyle="dotted")
    right.annotate(
        "K H, the maximum regret",
        (1, max_regret),
        xycoords=("axes fraction", "data"),
        xytext=(-2, 3),
        textcoords="offset points",
        ha="right",
        fontsize=7,
        color=GREY,
    )
    bases = [Line2D([], [], color=colour) for colour in PALETTE]
    updaters = [Line2D([], [], color=GREY), Line2D([], [], color=GREY, linestyle=DASHED)]
    names = ["active", f"lazy, alpha {parameters.alpha:g}"]
    figure.legend(bases, BASES, loc="outside right upper", title="Base", alignment="left")
    figure.legend(updaters, names, loc="outside right lower", title="Updating", alignment="left")
    add_command(figure, command, width=COMMAND_LINE_CHARS)
    return figure


def draw_against_delay(axes: Axes, parameters: BoundParameters) -> None:
    """Draw the bounds of Theorems 1 and 2 on `axes` against the mean delay.

    The axis ends at twice the mean delay in `parameters`, or at 100 if that delay is 0.
    """
    means = np.linspace(0, 2 * parameters.mean_delay or 100.0, POINTS_PER_CURVE)
    for base, line in LINE_PROPERTIES.items():
        active = [parameters.active_bound(base, mean) for mean in means]
        lazy = [parameters.lazy_bound(base, mean, parameters.alpha) for mean in means]
        axes.plot(means, active, **line)
        axes.plot(means, lazy, linestyle=DASHED, **line)
    axes.set_title("Against the mean delay", loc="left")
    axes.set_xlabel("E[tau], episodes")
    axes.set_ylabel("Bound on regret")


def draw_against_alpha(axes: Axes, parameters: BoundParameters) -> None:
    """Draw the bound of Theorem 2 on `axes` against alpha, and mark the minimum for each base.

    The mean delay is taken from `parameters`. An arrow at the right edge marks a minimum at a
    larger alpha than the axis shows.
    """
    alphas = np.geomspace(1, max(1000.0, 2 * parameters.alpha), POINTS_PER_CURVE)
    mean = parameters.mean_delay
    for base, line in LINE_PROPERTIES.items():
        lazy = [parameters.lazy_bound(base, mean, alpha) for alpha in alphas]
        axes.plot(alphas, lazy, linestyle=DASHED, **line)
        best = parameters.best_alpha(base)
        x = min(best, alphas[-1])
        y, marker = parameters.lazy_bound(base, mean, best), "o" if x == best else ">"
        axes.plot(x, y, marker, color=line["color"], markersize=6, clip_on=False)
    axes.set_xscale("log")
    axes.set_title(f"Against alpha at E[tau] = {mean:g}; marks: minima", loc="left")
    axes.set_xlabel("alpha of lazy updating")
