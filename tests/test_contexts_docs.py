"""docs/contexts.md: its examples run, and its tables are those of docs/contexts.py."""

import doctest
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

import belated as bl

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(DOCS / "contexts.py"))


def table(name: str) -> list[str]:
    """Return the lines of a table of the page."""
    text = (DOCS / "contexts.md").read_text(encoding="utf-8")
    found = re.search(rf"<!-- {name} -->\n(.*?)\n<!-- end of {name} -->", text, re.DOTALL)
    assert found is not None
    return found[1].splitlines()


def test_the_examples_print_what_the_page_shows() -> None:
    text = (DOCS / "contexts.md").read_text(encoding="utf-8")
    examples = doctest.DocTestParser().get_doctest(text, {}, "contexts.md", None, 0)
    assert doctest.DocTestRunner().run(examples).failed == 0
    assert len(examples.examples) >= 8


def test_the_table_of_coarse_states_comes_out_again(script: dict[str, Any]) -> None:
    assert list(script["coarsening_table"]()) == table("coarsening")


def test_the_first_row_of_the_learning_table_comes_out_again(script: dict[str, Any]) -> None:
    world = script["shop"](script["states_of"](0))
    found = [
        script["mean_text"](script["lost_episodes"](world, delay)) for delay in script["DELAYS"]
    ]
    assert f"| 1 | 2 | {' | '.join(found)} |" in table("learning")


def test_the_device_does_not_matter_in_the_shop(script: dict[str, Any]) -> None:
    fine, coarse = (bl.optimal_value(script["shop"](script["states_of"](n))) for n in (3, 2))
    assert fine == pytest.approx(coarse)
