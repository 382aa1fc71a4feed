"""Pictures of docs/bases-under-delay.md and docs/scaling.md, drawn from docs/data."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullFormatter, StrMethodFormatter

from bases_tables import BASES, LAWS, WORLDS, by_setting
from belated.figures.styles import LAW_PALETTE, PALETTE
from measured import half_width, read_data
from scaling_tables import BASES as SCALING_BASES
from scaling_tables import LAWS as SCALING_LAWS
from scaling_tables import SYMBOLS, order, penalties

Data = dict[str, Any]


def bases_data(mean: int) -> Data:
    """Return mean regret and its interval without delay and with delays of this `mean`."""
    of = by_setting(read_data("bases-under-delay")[1])
    found: Data = {}
    for world in WORLDS:
        for base in BASES:
            for delay in ("constant:0", *(f"{law}:{mean}" for law in LAWS)):
                if (world, base, delay) in of:
                    regrets = of[world, base, delay].regrets
                    found[f"{world} {base} {delay}"] = [
                        float(np.mean(regrets)),
                        half_width(regrets),
                    ]
    return found


def draw_bases(figure: Figure, data: Data) -> None:
    """Draw the regrets in `data` on `figure`: a panel for each world, a row for each base."""
    delays = list(dict.fromkeys(key.split()[2] for key in data))
    panels = figure.subplots(2, 3, sharey=True)
    for axes, world in zip(panels.flat, WORLDS, strict=True):
        for place, delay in enumerate(delays):
            keys = [f"{world} {base} {delay}" for base in BASES]
            shown = [(row, data[key]) for row, key in enumerate(keys) if key in data]
            rows = np.array([row for row, _ in shown])
            means, widths = np.array([point for _, point in shown]).T
            axes.errorbar(
                means,
                rows + 0.14 * (place - 2),
                xerr=widths,
                fmt="o" if place == 0 else "sD^v"[place - 1],
                color=PALETTE[1] if place == 0 else LAW_PALETTE[place - 1],
                markersize=4,
                linewidth=1,
                label="no delay" if place == 0 else delay.replace(":", ", mean "),
            )
        axes.set_xscale("log")
        axes.margins(x=0.06)
        low, high = axes.get_xlim()
        if high < 10 * low:  # too narrow for powers of ten
            axes.xaxis.set_major_locator(MaxNLocator(4))
            axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
            axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_title(world, loc="left")
        axes.set_yticks(range(len(BASES)), BASES)
        axes.grid(visible=False, axis="y")
        for line in np.arange(len(BASES) - 1) + 0.5:
            axes.axhline(line, color="0.9", linewidth=0.6)
    panels[0, 0].set_ylim(len(BASES) - 0.5, -0.5)
    for axes in panels[1]:
        axes.set_xlabel("Final regret")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=5)


def scaling_data() -> Data:
    """Return mean penalties and their intervals, by quantity, base and law."""
    sizes, means = (read_data(name)[1] for name in ("delay-scaling", "delay-scaling-means"))
    found: Data = {}
    for symbol in SYMBOLS:
        for base in SCALING_BASES:
            for law in SCALING_LAWS:
                shown = penalties(sizes, means, base, law, symbol)
                columns = np.array(shown.intervals()).T.tolist()
                found[f"{symbol} {base} {law}"] = [
                    list(shown.x),
                    *columns,
                    float(order(base, symbol)),
                ]
    return found


def draw_scaling(figure: Figure, data: Data) -> None:
    """Draw the penalties in `data` on `figure`: a panel for each quantity, in logarithms."""
    panels = figure.subplots(1, len(SYMBOLS))
    for axes, (symbol, name) in zip(panels, SYMBOLS.items(), strict=True):
        for base, colour in zip(SCALING_BASES, PALETTE, strict=False):
            for law, dash, marker in zip(SCALING_LAWS, ("-", "--"), "os", strict=True):
                x, mean, low, high, power = data[f"{symbol} {base} {law}"]
                x, mean = np.array(x), np.array(mean)
                errors = np.maximum(0, [mean - low, high - mean])
                style = {"color": colour, "linestyle": dash, "marker": marker, "markersize": 4}
                axes.errorbar(x, mean, yerr=errors, **style, label=f"{base}, {law}", linewidth=1.3)
                if law == "constant":
                    axes.plot(x, mean[0] * (x / x[0]) ** power, ":", color=colour, linewidth=1)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_title(f"{symbol} ({name})", loc="left")
        axes.set_xticks(x)
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.margins(x=0.05)
    panels[0].set_ylabel("Delay penalty (regret)")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
