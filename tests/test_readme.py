"""The README is short and true, and so is the code of docs/tour.md."""

import re
from pathlib import Path
from typing import Any

import belated as bl

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
FIRST, OWN_BASE = re.findall(
    r"```python\n(.*?)```", (ROOT / "docs" / "tour.md").read_text(), re.DOTALL
)


def test_the_tour_runs_and_gives_the_numbers_that_it_shows() -> None:
    names: dict[str, Any] = {"__name__": "tour"}
    exec(FIRST, names)
    assert f"# {bl.optimal_value(bl.chain(30)):.7f}"[:9] + "..." in FIRST
    largest = 20_000 * bl.optimal_value(bl.chain(10))
    assert f"{names['run'].total_regret:.1f}, out of a maximum of {largest:,.0f}" in FIRST


def test_the_base_of_the_tour_learns() -> None:
    names: dict[str, Any] = {"__name__": "tour"}
    exec(OWN_BASE, names)
    assert 0 < names["run"].total_regret < 2_000 * bl.optimal_value(bl.chain(5))


def test_the_readme_fits_on_a_few_screens_and_begins_with_a_picture() -> None:
    assert len(README.splitlines()) <= 120
    assert README.index("![") < README.index("```")
    for command in ("pip install", "make reproduce", "make test"):
        assert command in README


def test_the_numbers_of_the_readme_are_true() -> None:
    learner: dict[str, Any] = {"base": "ucrl2:scale=0.03", "updater": "lazy:10"}
    late = bl.simulate("chain-5", **learner, delay="geometric:100", episodes=1_000, seed=4)
    at_once = bl.simulate("chain-5", **learner, episodes=1_000, seed=4)
    largest = 1_000 * bl.optimal_value(bl.chain(5))
    sentence = f"lost a reward of {late.total_regret:.1f}, out of a maximum of {largest:.1f}"
    assert sentence in README
    assert f"Without delay it loses {at_once.total_regret:.1f}." in " ".join(README.split())
