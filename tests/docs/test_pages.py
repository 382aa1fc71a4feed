"""The code on the pages of the docs works as printed.

Examples with prompts are executed, other Python too, commands are parsed with the options that they
have, and study files are read. Pages whose code needs more than that have a test file of their own.
"""

import contextlib
import doctest
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer
import typer.main

import belated as bl
from belated.cli.main import app
from belated.sweep.study import read_study

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(
    path
    for path in [ROOT / "README.md", *DOCS.rglob("*.md")]
    if "generated" not in path.relative_to(ROOT).parts
)
TESTED_ELSEWHERE = {
    "docs/extending.md": "tests/test_extending_docs.py",
    "docs/service.md": "tests/test_readme_requests.py",
    "docs/tour.md": "tests/test_readme.py",
}
"""Pages whose Python code is executed by another test file."""

NEEDS = {
    "SLURMCluster(": "a SLURM cluster",
    'engine="gpu"': "a GPU",
    'frame("polars")': "a finished study, as in tests/sweep/test_results.py",
    "results.plot(": "a finished study, as in tests/figures/test_plots.py",
    'bl.results("results/first")': "a finished study; test_the_first_study_runs_as_printed",
    'sqlite:///belated.db")': "a ledger, as in tests/ledger/test_quarantine.py",
    "bl.Client(": "a service, as in tests/test_readme_requests.py",
    "belated_client": "the package belated-client and a service, as in tests/wheel",
}
"""Texts of code that is only compiled, with the reason."""

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


class Block(NamedTuple):
    """Block of code on a page."""

    page: str
    language: str
    code: str


def blocks(*languages: str) -> list[Block]:
    """Return the blocks of all pages in one of `languages`; those of Sphinx are left out."""
    found = []
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        for language, code in re.findall(
            r"^```([^\n]*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE
        ):
            if not language.startswith("{") and (not languages or language in languages):
                found.append(Block(path.relative_to(ROOT).as_posix(), language, code))
    return found


def sessions() -> dict[str, str]:
    """Return the examples with prompts of each page, as one session."""
    found: dict[str, str] = {}
    for page, _, code in blocks("pycon"):
        if page not in TESTED_ELSEWHERE:
            found[page] = found.get(page, "") + code + "\n"
    return found


def run(session: str, page: str) -> doctest.TestResults:
    """Run the examples of a `page`."""
    test = doctest.DocTestParser().get_doctest(session, {}, page, page, 0)
    return doctest.DocTestRunner(verbose=False, optionflags=FLAGS).run(test)


@pytest.mark.parametrize("page", sessions())
def test_the_examples_of_a_page_print_what_it_shows(page: str) -> None:
    result = run(sessions()[page], page)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("block", blocks("python"), ids=lambda block: block.page)
def test_python_on_a_page_is_executed_or_at_least_compiled(block: Block) -> None:
    if block.page in TESTED_ELSEWHERE:
        assert (ROOT / TESTED_ELSEWHERE[block.page]).is_file()
        return
    code = compile(block.code, block.page, "exec")
    if not any(text in block.code for text in NEEDS):
        exec(code, {"bl": bl})


def commands() -> Iterator[tuple[str, list[str]]]:
    """Yield page and words of each `belated` command on a page."""
    for page, _, code in blocks("", "bash"):
        for line in code.replace("\\\n", " ").splitlines():
            found = re.match(r"(?:\$ )?(belated (?!\d).*)", line)
            if found and "…" not in line:
                command = re.split(r" && |; | & ?$", found[1])[0]
                yield page, shlex.split(command, comments=True)[1:]


@pytest.mark.parametrize("page", sorted({page for page, _ in commands()}))
def test_commands_on_a_page_have_the_options_that_they_use(page: str) -> None:
    for found, words in commands():
        if found == page:
            parse(words)


def parse(words: list[str]) -> None:
    """Parse the `words` of a command without running it; raise an exception if they are wrong.

    Values are not checked, since files and addresses on the pages do not exist here.
    """
    command: Any = typer.main.get_command(app)
    context = typer.Context(command, info_name="belated")
    if words == ["--version"]:
        return
    while hasattr(command, "commands"):
        name, words = words[0], words[1:]
        command = command.commands[name]
        context = typer.Context(command, info_name=name, parent=context)
    options = command.make_parser(context).parse_args(args=list(words))[0]
    required = {param.name for param in command.params if param.required}
    assert required <= options.keys(), (command.name, required - options.keys())


@pytest.mark.parametrize("page", sorted({block.page for block in blocks("toml")}))
def test_study_files_on_a_page_are_valid(page: str, tmp_path: Path) -> None:
    for block in blocks("toml"):
        if block.page == page and "hopeful:Hopeful" not in block.code:
            (tmp_path / "study.toml").write_text(block.code)
            assert list(read_study(tmp_path / "study.toml").cells())


def test_the_first_study_runs_as_printed(tmp_path: Path) -> None:
    page = (DOCS / "run-a-study.md").read_text()
    [study] = re.findall(r"```toml\n# (first\.toml)\n(.*?)```", page, re.DOTALL)
    (tmp_path / study[0]).write_text(study[1].replace("episodes = 1000", "episodes = 100"))
    [python] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    with contextlib.chdir(tmp_path):
        typer.main.get_command(app)(["sweep", "first.toml"], standalone_mode=False)
        names: dict[str, Any] = {}
        *lines, last = python.strip().splitlines()
        exec("\n".join(lines), names)
        found = eval(last, names)
    assert len(found["regret"]) == 4
    assert os.listdir(tmp_path / "results") == ["first"]


def external_links() -> dict[str, list[str]]:
    """Return the pages on which each address outside the site stands."""
    found: dict[str, list[str]] = {}
    for path in PAGES:
        for address in re.findall(r"\]\((https?://[^)]*)\)", path.read_text()):
            found.setdefault(address, []).append(path.name)
    return found


def test_addresses_outside_the_site_are_few_and_well_formed() -> None:
    links = external_links()
    for address in links:
        assert re.fullmatch(r"https://[\w.-]+\.[a-z]+(/[\w./~%#-]*)?", address), address
    assert len(links) < 40


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_to_files_lead_somewhere(path: Path) -> None:
    """Sphinx checks the links of the site; this also checks the README and anchors on GitHub."""
    if path.name in ("contributing.md", "changes.md", "examples.md", "reference.md"):
        return  # they include another file, or link to generated ones
    for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", path.read_text()):
        assert (path.parent / target).exists(), target
