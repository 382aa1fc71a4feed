"""Tables that notebooks display: complete, escaped, and without scripts or colours."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.sweep.store import Store
from belated.sweep.sweep import sweep
from small_study import STUDY


def cells(text: str) -> list[str]:
    """Return the texts of all table cells, still escaped."""
    return re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", text)


def run(**parts: str) -> bl.Run:
    """Return a made-up run."""
    return bl.Run(
        seed=7,
        episodes=2000,
        episode=np.array([2000]),
        regret=np.array([1234.5]),
        updates=30,
        epochs=31,
        max_missing=5,
        optimism_broken=0,
        **parts,  # type: ignore[arg-type]
    )


def learner() -> bl.Learner:
    return bl.Learner(
        bl.Shape(2, 2, 3),
        base=bl.UCRL2(scale=0.1),
        updater=bl.Lazy(10),
        rewards=[[0, 0], [0, 1]],
        episodes=10,
    )


def test_a_run_shows_its_setting_and_its_numbers() -> None:
    found = cells(run(base="ucrl2:scale=0.1", delay="geometric:100")._repr_html_())
    facts = dict(zip(found[::2], found[1::2], strict=True))
    assert facts["base"] == "ucrl2:scale=0.1"
    assert facts["delay"] == "geometric:100"
    assert facts["total regret"] == "1,234.5"
    assert facts["episodes in flight"] == "at most 5, 0 at the end"
    assert "updater" not in facts  # unknown


def test_a_learner_shows_its_parts_and_its_episodes() -> None:
    shown = learner()
    shown.start(1)
    text = shown._repr_html_()
    assert "ucrl2:scale=0.1" in text
    assert "lazy:10" in text
    assert "10 planned, 1 started, 0 observed, 1 in flight" in text


def test_a_small_policy_shows_its_actions_by_range_of_steps() -> None:
    explore = np.zeros((3, 2, 2), bool)
    explore[2, 1] = True
    policy = bl.Policy(np.array([[0, 1], [0, 1], [1, 1]], np.int32), explore)
    found = cells(policy._repr_html_())
    assert found[found.index("state") :] == [
        *("state", "step 1-2", "step 3"),
        *("0", "0", "1"),
        *("1", "1", "random"),
    ]
    assert "at 1 of 6 steps and states" in found


def test_results_show_the_columns_that_vary(tmp_path: Path) -> None:
    cells_of_study = replace(STUDY, episodes=20, seeds=2, worlds=["chain-3"])
    sweep(cells_of_study.cells(), Store(tmp_path), threads=1, progress=False)
    found = bl.results(tmp_path)
    shown = cells(found._repr_html_())
    first = shown.index("delay")
    assert shown[first : first + 5] == ["delay", "updater", "runs", "mean regret", "central 95%"]
    assert shown[first + 5 : first + 8] == ["constant:0", "active", "2"]
    assert shown[shown.index("world") + 1] == "chain-3"
    summary = found.summary()
    runs = found.runs()
    mine = runs["setting"] == summary["setting"][0]
    assert summary["mean_regret"][0] == pytest.approx(runs["total_regret"][mine].mean())
    assert summary["runs"].tolist() == [2] * 4


@pytest.mark.parametrize(
    "make",
    [
        lambda: run(base="<script>alert('x')</script>"),
        learner,
        lambda: learner().policy,
        lambda: bl.chain(3),
    ],
    ids=["run", "learner", "policy", "world"],
)
def test_the_page_runs_nothing_fetches_nothing_and_has_no_colours(make: Callable[[], Any]) -> None:
    text = make()._repr_html_()
    tags = set(re.findall(r"<(\w+)", text))
    assert tags <= {"div", "b", "table", "tr", "th", "td", "details", "summary"}
    for word in ("http", "color", "background", "onclick"):
        assert word not in text
