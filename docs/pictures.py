"""Draw the pictures of the README and of the site that are stale: `make pictures`.

A picture holds a digest of the data that it shows and of the code that draws it. It is stale if the
digest differs, which the tests find without drawing. `--all` draws all of them; names of pictures
draw these. The dashboard is photographed in Chromium, while the demo runs for two minutes.
"""

import argparse
import hashlib
import inspect
import json
import re
import runpy
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter

import belated as bl
import lateness_tables
from belated.figures.styles import LAW_PALETTE, PALETTE, RC_PARAMS
from belated.theory import missing
from study_pictures import bases_data, draw_bases, draw_scaling, scaling_data

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "pictures"
DASHBOARD = ROOT / "src" / "belated" / "service" / "dashboard"
DEMO_S = 100
"""Seconds that the demo runs before its dashboard is photographed."""

LAWS = ("constant:100", "uniform:100", "poisson:100", "geometric:100")
LATE = {
    "constant:0": "results at once",
    "geometric:100": "100 episodes late",
    "geometric:500": "500 episodes late",
}
"""Delay laws of the first picture, with their labels."""

LEARNER = {"base": "ucrl2:scale=0.03", "updater": "lazy:10"}
Data = dict[str, Any]


def first_data() -> Data:
    """Return the regret on a chain under three delays: mean and quartiles of 100 runs."""
    found: Data = {}
    for delay in LATE:
        runs = bl.simulate_many(
            "chain-5", **LEARNER, delay=delay, episodes=1_000, every=5, seeds=range(100)
        )
        regrets = np.array([run.regret for run in runs])
        found[delay] = {
            "episode": runs[0].episode,
            "mean": regrets.mean(axis=0),
            "low": np.quantile(regrets, 0.25, axis=0),
            "high": np.quantile(regrets, 0.75, axis=0),
        }
    return found


def draw_first(figure: Figure, data: Data) -> None:
    """Draw late episodes on a time line, beside the regrets in `data`, on `figure`."""
    left, right = figure.subplots(1, 2, width_ratios=(1.15, 1))
    draw_timeline(left)
    for (delay, label), colour in zip(LATE.items(), PALETTE, strict=False):
        curve = data[delay]
        right.fill_between(curve["episode"], curve["low"], curve["high"], color=colour, alpha=0.15)
        right.plot(curve["episode"], curve["mean"], color=colour)
        right.annotate(
            label,
            (curve["episode"][-1], curve["mean"][-1]),
            xytext=(-2, 4),
            textcoords="offset points",
            ha="right",
            color=colour,
        )
    right.set_title("What learning costs under three delays", loc="left")
    right.set_xlabel("Episodes")
    right.set_ylabel("Reward lost so far (regret)")
    right.set_ylim(0)
    right.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))


def draw_timeline(axes: Axes) -> None:
    """Draw six episodes on `axes`, each with a line until its result arrives."""
    arrivals = {1: 3.45, 2: 6.45, 3: 4.45, 4: 8.45, 5: 7.45, 6: np.inf}
    now = 6
    for episode, arrival in arrivals.items():
        known = arrival < now
        colour = PALETTE[2] if known else PALETTE[1]
        end = min(arrival, 9.6)
        axes.plot([episode, end], [episode] * 2, color=colour, linestyle=(0, (4, 2)), linewidth=1.2)
        axes.plot(episode, episode, "o", color="black", markersize=7)
        if np.isfinite(arrival):
            axes.plot(arrival, episode, "s", color=colour, markersize=7)
        else:
            axes.text(9.65, episode, "never", va="center", color=colour)
    axes.axvline(now, color="0.4", linewidth=1)
    axes.text(now + 0.1, 0.35, "now: decide episode 6", color="0.3")
    axes.text(1.1, 0.35, "time →", color="0.3")
    handles = [
        axes.plot([], [], "o", color="black", label="decision made")[0],
        axes.plot([], [], "s", color=PALETTE[2], label="result known now")[0],
        axes.plot([], [], "s", color=PALETTE[1], label="result still to come")[0],
    ]
    axes.legend(handles=handles, loc="lower left", fontsize=8, handlelength=1)
    axes.set_title("Results of episodes arrive late", loc="left")
    axes.set_yticks(range(1, 7), [f"episode {number}" for number in range(1, 7)])
    axes.set_ylim(6.6, 0)
    axes.set_xlim(0.6, 10.6)
    axes.set_xticks([])
    axes.grid(visible=False)


def delays_data() -> Data:
    """Return 100,000 delays of each law as a histogram, and the episodes in flight over time."""
    found: Data = {}
    for name in LAWS:
        delays = bl.delays.parse(name).draw(seed=1, episodes=100_000)
        found[name] = {
            "share": np.histogram(delays, bins=np.arange(0, 410, 10))[0] / len(delays),
            "missing": missing(delays[:1_000]),
        }
    return found


def draw_delays(figure: Figure, data: Data) -> None:
    """Draw the four laws in `data` and the number of episodes in flight on `figure`."""
    left, right = figure.subplots(1, 2)
    edges = np.arange(0, 410, 10)
    for (name, law), colour in zip(data.items(), LAW_PALETTE, strict=False):
        label = name.partition(":")[0]
        left.stairs(law["share"], edges, color=colour, label=label, linewidth=1.4)
        right.plot(range(1, 1_001), law["missing"], color=colour, label=label, linewidth=1.2)
    left.set_yscale("log")
    left.set_ylim(1e-4, 1.2)
    left.set_title("Share of episodes by delay", loc="left")
    left.set_xlabel("Delay in episodes, mean 100")
    left.legend()
    right.set_title("Episodes in flight", loc="left")
    right.set_xlabel("Episode")
    right.set_ylim(0)


def updating_data() -> Data:
    """Return plans and regret on a chain for values of alpha: means of 10 runs."""
    found: Data = {}
    for delay in ("constant:0", "geometric:100"):
        for alpha in ("1", "2", "5", "10", "100", "inf"):
            runs = bl.simulate_many(
                "chain-10",
                base="ucrl2:scale=0.03",
                updater=f"lazy:{alpha}",
                delay=delay,
                episodes=5_000,
                seeds=range(10),
            )
            found[f"{delay} {alpha}"] = [
                float(np.mean([run.updates for run in runs])),
                float(np.mean([run.total_regret for run in runs])),
            ]
    return found


def draw_updating(figure: Figure, data: Data) -> None:
    """Draw the regrets in `data` against the number of plans on `figure`."""
    axes = figure.subplots()
    labels = {"constant:0": "no delay", "geometric:100": "geometric delays, mean 100"}
    for (delay, label), colour in zip(labels.items(), PALETTE, strict=False):
        points = {key.split()[1]: point for key, point in data.items() if key.startswith(delay)}
        axes.plot(*zip(*points.values(), strict=True), "o-", color=colour, label=label)
        for alpha, point in points.items():
            text = "active" if alpha == "inf" else f"α = {alpha}"
            axes.annotate(
                text, point, xytext=(3, 6), textcoords="offset points", fontsize=8, color=colour
            )
    axes.set_xscale("log")
    axes.set_ylim(0)
    axes.set_xlim(50, 10_000)
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axes.set_xlabel("Number of plans in 5,000 episodes")
    axes.set_ylabel("Final regret")
    axes.legend(loc="lower left")


LATENESS_CURVES = {
    "good outcomes late": (0, "active"),
    "bad outcomes late": (1, "active"),
    "90 % of good outcomes never": (2, "active"),
    "independent: all late": (None, "active"),
    "good outcomes late, matured": (0, lateness_tables.MATURED),
}
"""Number of the law in `lateness_tables.LAWS`, or None for the independent one, and updater of each
curve of the picture of biases."""


def lateness_data() -> Data:
    """Return the stored bias of UCRL2 over episodes: mean and confidence interval, by world."""
    stored = lateness_tables.bias_by_setting()
    found: Data = {}
    for world, laws in lateness_tables.LAWS.items():
        for label, (number, updater) in LATENESS_CURVES.items():
            delay = lateness_tables.CONTROL if number is None else list(laws)[number]
            curves = 100 * stored[world, delay, "ucrl2", updater]
            half = lateness_tables.half_width(curves)
            found[f"{world}/{label}"] = [curves.mean(axis=0).tolist(), half.tolist()]
    return found


def draw_lateness(figure: Figure, data: Data) -> None:
    """Draw the biases in `data` over episodes on `figure`."""
    worlds = lateness_tables.TIMES
    for axes, (world, times) in zip(
        figure.subplots(1, len(worlds), sharey=True), worlds.items(), strict=True
    ):
        for label, colour in zip(LATENESS_CURVES, PALETTE, strict=False):
            mean, half = np.array(data[f"{world}/{label}"])
            axes.fill_between(times, mean - half, mean + half, color=colour, alpha=0.15)
            axes.plot(times, mean, color=colour, label=label)
        axes.set_title(world, loc="left")
        axes.set_xlabel("Episodes")
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    figure.axes[0].set_ylabel("Bias in % of V*")
    lines, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside lower center", ncols=len(labels), fontsize=8)


@dataclass(frozen=True)
class Picture:
    """Picture that is drawn from data: its size in inches, its data and its drawing function."""

    size: tuple[float, float]
    data: Callable[[], Data]
    draw: Callable[[Figure, Data], None]

    def digest(self) -> str:
        """Return a digest of the data, to six digits, and of the drawing code."""
        named = (globals().get(name) for name in self.draw.__code__.co_names)
        code = [self.draw, *filter(inspect.isfunction, named)]
        return digest(json.dumps(self.data(), default=rounded), *map(inspect.getsource, code))

    def write(self, path: Path) -> None:
        """Draw the picture into the file `path`."""
        with style.context(["default", RC_PARAMS]):
            figure = Figure(figsize=self.size, layout="constrained")
            FigureCanvasAgg(figure)
            self.draw(figure, self.data())
            metadata = {"Software": None, "Digest": self.digest()}
            figure.savefig(path, dpi=130, metadata=metadata)


class Dashboard:
    """Screenshot of the dashboard while the demo runs; its data are the files of the dashboard."""

    def digest(self) -> str:
        """Return a digest of the files of the dashboard."""
        files = sorted(
            path for path in DASHBOARD.iterdir() if path.suffix in (".html", ".css", ".js")
        )
        return digest(*(path.read_text(encoding="utf-8") for path in files))

    def write(self, path: Path) -> None:
        """Run the demo and write a picture of its dashboard to the file `path`."""
        sys.path.insert(0, str(ROOT / "tests"))
        from browser.chromium import chromium

        command = [sys.executable, "-m", "belated", "demo", "--port", "0", "--rate", "15"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as demo:
            try:
                assert demo.stdout is not None
                found = (re.search(r"http://127\.0\.0\.1:\d+", line) for line in demo.stdout)
                address = next(match[0] for match in found if match)
                time.sleep(DEMO_S)  # while patients come
                with TemporaryDirectory() as folder, chromium(Path(folder)) as tab:
                    tab.resize(1280, 2040)  # the whole page, without a scroll bar
                    tab.goto(f"{address}/#clinic")
                    tab.wait_for("document.body.innerText.includes('Live')")
                    tab.screenshot(path)
            finally:
                demo.terminate()
        path.write_bytes(with_digest(path.read_bytes(), self.digest()))


class Theory:
    """The picture of docs/theory.md, which has its own script."""

    script = FOLDER / "theory.py"

    def digest(self) -> str:
        """Return a digest of the script."""
        return digest(self.script.read_text(encoding="utf-8"))

    def write(self, path: Path) -> None:
        """Run the script, which writes the file `path`."""
        runpy.run_path(str(self.script), run_name="__main__")
        path.write_bytes(with_digest(path.read_bytes(), self.digest()))


PICTURES: dict[str, Picture | Dashboard | Theory] = {
    "timeline": Picture((10, 3.6), first_data, draw_first),
    "delays": Picture((10, 3.2), delays_data, draw_delays),
    "updating": Picture((6.5, 3.6), updating_data, draw_updating),
    "bases-under-delay-100": Picture((11, 7), lambda: bases_data(100), draw_bases),
    "bases-under-delay-500": Picture((11, 7), lambda: bases_data(500), draw_bases),
    "scaling": Picture((13, 3.6), scaling_data, draw_scaling),
    "lateness-that-tells": Picture((12, 3.8), lateness_data, draw_lateness),
    "theory": Theory(),
    "dashboard": Dashboard(),
}
"""Pictures by name; each is the file docs/pictures/NAME.png."""


def rounded(numbers: Any) -> list[float]:
    """Return an array as a list of numbers with six digits."""
    return [float(f"{number:.6g}") for number in np.asarray(numbers).tolist()]


def digest(*texts: str) -> str:
    """Return a digest of `texts`."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def with_digest(png: bytes, value: str) -> bytes:
    """Return the file `png` with the digest `value` as a text chunk before its end."""
    body = b"tEXtDigest\0" + value.encode()
    chunk = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    return png[:-12] + chunk + png[-12:]


def stored_digest(path: Path) -> str:
    """Return the digest in the picture `path`; an empty text if there is none."""
    found = re.search(rb"tEXtDigest\0([0-9a-f]{16})", path.read_bytes()) if path.exists() else None
    return found[1].decode() if found else ""


def main() -> None:
    """Draw the pictures that are stale, or those that the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("names", nargs="*", help=", ".join(PICTURES))
    parser.add_argument("--all", action="store_true", help="draw pictures that are not stale too")
    given = parser.parse_args()
    for name in given.names or PICTURES:
        path = FOLDER / f"{name}.png"
        if given.all or given.names or stored_digest(path) != PICTURES[name].digest():
            PICTURES[name].write(path)
            print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
