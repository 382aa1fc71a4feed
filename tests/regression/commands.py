"""Commands: what they print as JSON, the numbers in what they print as text, and their files."""

import json
import re
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

import belated as bl
from regression.digesting import digest
from regression.internals import cli, small_paper

NUMBER = re.compile(r"\d(?:[\d,]*\d)?(?:\.\d+)?(?:e[+-]?\d+)?")

RUN = ["run", "--episodes", "120", "--seeds", "3", "--threads", "1"]
LAZY = ["--updater", "lazy:2", "--updater", "lazy:auto"]
SIZE = ["--states", "5", "--actions", "2", "--horizon", "5"]
CALIBRATE = ["calibrate", "--episodes", "100", "--seeds", "6", "--threads", "1"]

AS_JSON: dict[str, list[str]] = {
    "run": [*RUN, "--world", "chain-4", "--base", "ucrl2", "--option", "scale=0.1"],
    "run several": [
        *(*RUN, "--world", "riverswim-4", "--base", "ucrl2", "--base", "psrl"),
        *("--updater", "active", *LAZY, "--updater", "explicit", "--updater", "multi"),
        *("--delay", "geometric:5", "--delay", "uniform:10", "--option", "ucrl2.scale=0.1"),
    ],
    "run late rewards": [
        *(*RUN, "--world", "deep-sea-4-noisy", "--base", "ubev", "--option", "scale=0.05"),
        *(*LAZY, "--delay", "never:0.1:poisson:6", "--rewards", "unknown", "--late", "rewards"),
        *("--delay-per", "step"),
    ],
    "run pooled": [
        *(*RUN, "--world", "garnet-4-2-3", "--base", "ucbvi-bf", "--option", "preset=two_term"),
        *("--option", "scale=0.02", "--stages", "pooled", "--rewards", "unknown"),
        *("--delay", "constant:9"),
    ],
    "bounds": ["bounds", *SIZE, "--episodes", "1000", "--mean-delay", "10"],
    "bounds long": [
        *("bounds", "--states", "30", "--actions", "2", "--horizon", "30"),
        *("--episodes", "100000", "--mean-delay", "300", "--alpha", "3", "--delta", "0.1"),
    ],
    "bounds never": ["bounds", *SIZE, "--episodes", "50", "--mean-delay", "inf"],
}
"""Commands that take --json."""

AS_TEXT: dict[str, list[str]] = {
    "run": AS_JSON["run several"],
    "bounds": AS_JSON["bounds"],
    "bounds long": AS_JSON["bounds long"],
    "worlds": ["worlds"],
    "show chain-5": ["show", "chain-5"],
    "show grid-3x4": ["show", "grid-3x4"],
    "show riverswim-6": ["show", "riverswim-6"],
    "show garnet-20-3-4": ["show", "garnet-20-3-4"],
    "calibrate": [*CALIBRATE, "--world", "chain-3", "--base", "ucbvi-ch"],
    "calibrate late": [
        *(*CALIBRATE, "--world", "riverswim-3", "--base", "ucbvi-bf", "--preset", "two_term"),
        *("--updater", "lazy:10", "--delay", "geometric:5", "--stages", "pooled"),
    ],
}

STUDY = """
name = "small"
episodes = 90
seeds = 3
worlds = ["riverswim-3"]
updaters = ["active", "lazy:10", "lazy:auto", "explicit", "multi"]
delays = ["constant:0", "geometric:5"]

[[bases]]
name = "ucrl2"
scale = 0.1

[[bases]]
name = "ucbvi-bf"
preset = "two_term"
scale = 0.05
label = "bernstein"
"""


def call(words: Sequence[str]) -> str:
    """Return what a command prints; it must succeed."""
    done = CliRunner().invoke(cli, list(words), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def as_json(name: str) -> Any:
    """Return a JSON answer without the command that it repeats."""
    found = json.loads(call([*AS_JSON[name], "--json"]))
    found.pop("command", None)
    return found


def numbers(name: str) -> list[str]:
    """Return the numbers of a text, in their order."""
    return NUMBER.findall(call(AS_TEXT[name]))


def results(folder: Path, *, later: str = "no setting") -> dict[str, Any]:
    """Return digests of the columns of a sweep's results.

    Settings that match the pattern `later` were added after the digests had been recorded.
    """
    found = bl.results(folder)
    runs = found.runs()
    kept = [re.fullmatch(later, name) is None for name in runs["setting"]]
    names = sorted(set(runs["setting"][kept].tolist()))
    return {
        "runs": {name: digest(column[kept]) for name, column in runs.items()},
        "curves": {name: digest(found.curves(name)) for name in names},
    }


def sweep() -> dict[str, Any]:
    """Return what a small study leaves."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "study.toml").write_text(STUDY)
        words = ["sweep", str(folder / "study.toml"), "--out", str(folder / "out")]
        call([*words, "--threads", "1"])
        return results(folder / "out")


def reproduce(variant: str) -> dict[str, Any]:
    """Return what a reproduction of the paper leaves when it is made small."""
    with tempfile.TemporaryDirectory() as name, small_paper():
        folder = Path(name)
        call(["reproduce", "--variant", variant, "--out", name, "--threads", "1"])
        found = results(folder, later=r"chain-\d+/figures/.*/explicit")
        comparisons, _, _ = (folder / "numbers.md").read_text().partition("### Figures")
        found["numbers"] = NUMBER.findall(comparisons)
        return found


JSON: dict[str, Callable[[], Any]] = {name: partial(as_json, name) for name in AS_JSON}
TEXTS: dict[str, Callable[[], Any]] = {name: partial(numbers, name) for name in AS_TEXT}
FILES: dict[str, Callable[[], Any]] = {
    "sweep": sweep,
    "reproduce figures": partial(reproduce, "figures"),
}
