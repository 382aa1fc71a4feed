"""The version is declared in src/belated/__init__.py, and other files agree with it."""

import re
import tomllib
from pathlib import Path

import belated

ROOT = Path(__file__).parents[1]


def test_the_project_files_read_the_version_from_the_package() -> None:
    for path in (ROOT / "pyproject.toml", ROOT / "client" / "pyproject.toml"):
        project = tomllib.loads(path.read_text())["project"]
        assert project["dynamic"] == ["version"]
        assert "version" not in project


def test_the_citation_and_the_changelog_have_the_version_and_its_date() -> None:
    citation = (ROOT / "CITATION.cff").read_text()
    date = re.search(r"^date-released: (.+)$", citation, re.MULTILINE)
    assert re.search(rf"^version: {re.escape(belated.__version__)}$", citation, re.MULTILINE)
    assert date is not None
    assert f"\n## [{belated.__version__}] - {date[1]}\n" in (ROOT / "CHANGELOG.md").read_text()
