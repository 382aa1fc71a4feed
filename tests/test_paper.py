"""The draft of the article is short, and cites and counts only what exists."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "paper" / "paper.md").read_text().split("---\n", 2)[2]
MAX_WORDS = 1000


def test_the_article_has_at_most_a_thousand_words() -> None:
    assert 750 < len(TEXT.split()) <= MAX_WORDS


def test_every_citation_is_in_the_bibliography_and_every_entry_is_cited() -> None:
    entries = re.findall(r"^@\w+\{(\w+),", (ROOT / "paper" / "paper.bib").read_text(), re.MULTILINE)
    assert set(re.findall(r"@(\w+)", TEXT)) == set(entries)


def test_measured_numbers_of_the_article_are_those_of_the_documentation() -> None:
    evidence = TEXT.split("# Evidence")[1].split("\n# ")[0]
    pages = "".join((ROOT / "docs" / f"{name}.md").read_text() for name in PAGES)
    numbers = re.findall(r"\d+ of \d+|\d[\d,.]*\d", evidence.replace("howson2021", ""))
    assert len(numbers) >= 5
    assert [number for number in numbers if number not in pages] == []


PAGES = ("reproduction", "performance")
