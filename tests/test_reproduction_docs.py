"""The pages of docs that docs/reproduction.py writes."""

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from belated.papers.howson2021.tables import figure_table, format_markdown

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(DOCS / "reproduction.py"))


def test_numbers_replace_the_part_between_the_markers(
    script: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "study.json").write_text(json.dumps({"variant": "figures"}))
    (tmp_path / "numbers.md").write_text("New \\1 numbers.\n")
    page = tmp_path / "reproduction.md"
    page.write_text("Before.\n<!-- numbers -->\nOld.\n<!-- end of numbers -->\nAfter.\n")
    monkeypatch.setitem(script["main"].__globals__, "DOCS", tmp_path)
    expected = "Before.\n<!-- numbers -->\nNew \\1 numbers.\n<!-- end of numbers -->\nAfter.\n"
    for _ in range(2):
        script["main"](tmp_path)
        assert page.read_text() == expected
    with pytest.raises(ValueError, match="must have one pair of markers, got 0"):
        script["insert_numbers"]("no markers", "")


def test_the_pages_have_markers_and_the_numbers_of_the_figures(script: dict[str, Any]) -> None:
    for page in script["PAGES"].values():
        assert script["BLOCK"].search((DOCS / page).read_text()) is not None
    assert "\n".join(format_markdown(figure_table())) in (DOCS / "reproduction.md").read_text()
