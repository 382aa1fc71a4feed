"""Tests that the examples of docs/theory.md print what the page shows."""

import doctest
import re
from pathlib import Path

from belated import theory

PAGE = Path(__file__).parents[1] / "docs" / "theory.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


def run(text: str) -> doctest.TestResults:
    """Run the examples in `text` in one session."""
    test = doctest.DocTestParser().get_doctest(text, {}, PAGE.name, str(PAGE), 0)
    return doctest.DocTestRunner(verbose=False).run(test)


def test_every_example_of_the_page_gives_what_is_printed() -> None:
    result = run("\n".join(BLOCKS))
    assert result.attempted > 25
    assert result.failed == 0


def test_an_example_that_prints_something_else_would_be_noticed(capsys) -> None:
    wrong = "\n".join(BLOCKS).replace("3 3 2.0 3.0", "3 2 2.0 3.0")
    assert run(wrong).failed == 1
    assert "3 2 2.0 3.0" in capsys.readouterr().out


def test_the_page_names_every_function_of_the_package() -> None:
    # types, and functions for the engine
    unnamed = {
        "EpochCounts",
        "Guarantee",
        "Optimism",
        "Order",
        "RowNumbers",
        "VisitSums",
        "alpha_for",
        "lazy_terms",
        "owners",
    }
    for name in set(theory.__all__) - unnamed:
        assert f"`{name}" in TEXT or f"theory.{name}(" in TEXT, name


def test_the_page_has_its_picture() -> None:
    [name] = re.findall(r"!\[.*?\]\((.*?)\)", TEXT)
    assert (PAGE.parent / name).read_bytes().startswith(b"\x89PNG")
