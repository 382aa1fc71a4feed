"""The core runs with its own dependencies only; other commands say which extra they need.

Each test runs in a process in which no package can be imported that `pip install belated` would not
install. `make test-wheel` tests the same in a fresh environment.
"""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import distributions, packages_distributions, requires
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CORE = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]

ONLY_CORE = """
import sys

class Filter:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        hidden = name.partition(".")[0] in {hidden!r}
        return None if hidden else self.finder.find_spec(name, path, target)

sys.meta_path[:] = map(Filter, sys.meta_path)
"""
"""Beginning of a program in which the packages `hidden` cannot be imported."""


def normalized(requirement: str) -> str:
    """Return the name of the distribution in a requirement, such as "ruff>=0.8"."""
    return re.split(r"[^\w.-]", requirement)[0].lower().replace("_", "-").replace(".", "-")


def not_installed_by_core() -> set[str]:
    """Return the top-level modules of installed distributions that the core does not require."""
    installed = {normalized(each.name) for each in distributions()}
    needed = {"belated"}
    pending = {normalized(each) for each in CORE}
    while pending:
        needed |= pending
        required = [each for name in pending for each in requires(name) or []]
        pending = {normalized(each) for each in required if "extra ==" not in each}
        pending = (pending & installed) - needed  # those of other systems are not installed
    modules = packages_distributions()
    return {
        name
        for name, owners in modules.items()
        if needed.isdisjoint(normalized(owner) for owner in owners)
    }


HIDDEN = not_installed_by_core()


def hide(modules: set[str]) -> str:
    """Return the beginning of a program that can import none of the top-level `modules`."""
    return ONLY_CORE.replace("{hidden!r}", repr(modules))


PYTHON = hide(HIDDEN | {"pydantic", "rich", "typer"})
"""Beginning of a program that uses functions; packages of the command line are hidden as well."""

COMMAND_LINE = hide(HIDDEN)  # since typer 0.29, typer itself needs pydantic


def test_the_core_needs_neither_matplotlib_nor_duckdb_nor_a_database() -> None:
    assert {"matplotlib", "duckdb", "sqlalchemy", "fastapi", "uvicorn"} <= HIDDEN
    assert HIDDEN.isdisjoint(["belated", "numba", "numpy", "scipy", "typer", "rich"])


def run(prelude: str, code: str) -> subprocess.CompletedProcess[str]:
    """Run `code` after `prelude` in a new process."""
    command = [sys.executable, "-c", prelude + code]
    return subprocess.run(command, capture_output=True, text=True)


def test_the_core_simulates_and_plans() -> None:
    done = run(
        PYTHON,
        "import belated as bl; run = bl.simulate('chain-3', base='ucrl2:scale=0.1', "
        "updater='lazy:10', delay='poisson:5', episodes=50); "
        "print(run.episode[-1], bl.optimal_value(bl.chain(3)) > 0)",
    )
    assert (done.returncode, done.stdout) == (0, "50 True\n"), done.stderr


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("bl.plot", "A figure needs Matplotlib: pip install 'belated[figures]'."),
        ("bl.chain(3).plot()", "A figure needs Matplotlib: pip install 'belated[figures]'."),
        ("bl.results", "Access to results needs DuckDB: pip install 'belated[sweep]'."),
    ],
)
def test_a_function_without_its_packages_names_the_extra(code: str, message: str) -> None:
    done = run(PYTHON, f"import belated as bl; {code}")
    assert done.stderr.splitlines()[-1] == f"ImportError: {message}"


SERVICE = (
    "belated.service needs FastAPI, prometheus-client and uvicorn: pip install 'belated[service]'."
)
COMMANDS = {
    "reproduce": "belated reproduce needs duckdb and matplotlib: pip install 'belated[report]'.",
    "sweep late-rewards": "belated sweep needs duckdb: pip install 'belated[sweep]'.",
    "figures results": "belated figures needs duckdb and matplotlib: pip install "
    "'belated[report]'.",
    "run --world chain-3 --base ucrl2 --figure a": "--figure needs matplotlib: pip install "
    "'belated[figures]'.",
    "run --world chain-3 --base ucrl2 --report a.html": "--report needs duckdb and matplotlib: "
    "pip install 'belated[report]'.",
    "show chain-3 --plot a": "--plot needs matplotlib: pip install 'belated[figures]'.",
    "serve": "belated.ledger needs SQLAlchemy and alembic: pip install 'belated[service]'.",
    "demo": "belated.ledger needs SQLAlchemy and alembic: pip install 'belated[service]'.",
    "token create --scope admin": SERVICE,
    "token list": "belated.ledger needs SQLAlchemy and alembic: pip install 'belated[service]'.",
    "ledger verify": "belated.ledger needs SQLAlchemy and alembic: pip install 'belated[service]'.",
}


def test_a_command_without_its_packages_says_so_in_one_sentence() -> None:
    """One process for all commands, because starting it takes most of the time."""
    code = (
        "import shlex; from belated.cli.main import app\n"
        f"for command in {list(COMMANDS)!r}:\n"
        "    try: app(shlex.split(command), prog_name='belated')\n"
        "    except SystemExit as exit: print(exit.code, file=sys.stderr)\n"
    )
    done = run(COMMAND_LINE, code)
    said = done.stderr.splitlines()
    assert said == [line for message in COMMANDS.values() for line in (message, "1")]
    assert done.stdout == ""


def test_commands_of_the_core_need_no_extra() -> None:
    code = (
        "from belated.cli.main import app\n"
        "for words in (['worlds'], ['show', 'chain-3'], "
        "['run', '--world', 'chain-3', '--base', 'ucrl2', '--episodes', '20', '--seeds', '1']):\n"
        "    try: app(words, prog_name='belated')\n"
        "    except SystemExit as exit: assert not exit.code\n"
    )
    done = run(COMMAND_LINE, code)
    assert done.returncode == 0, done.stderr
    assert "chain-3" in done.stdout
