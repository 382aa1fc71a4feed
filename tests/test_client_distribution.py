"""The modules of the client work as the package belated_client, with Python 3.9 and alone.

`make test-wheel` installs the built distribution.
"""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from installations import find_python

SOURCE = Path(__file__).parents[1] / "src" / "belated" / "client"
MODULES = sorted(SOURCE.glob("*.py"))


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.name)
def test_a_module_of_the_client_has_the_syntax_of_python_3_9(module: Path) -> None:
    tree = ast.parse(module.read_text(), feature_version=(3, 9))
    imported = {
        alias.name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    } | {
        str(node.module).partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and not node.level
    }
    assert imported <= sys.stdlib_module_names


def test_the_client_runs_under_another_name_without_belated(tmp_path: Path) -> None:
    shutil.copytree(SOURCE, tmp_path / "belated_client")
    python = find_python("3.9", "3.10", "3.11") or sys.executable
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from belated_client import Client, NamedPolicy, OpenEpisode, ServiceError\n"
        "plan = [{'x': 'a'}, {'x': 'b'}]\n"
        "policy = NamedPolicy('shop', 1, 2, ['a', 'b'], plan, [{}, {}], 0, '')\n"
        "print(OpenEpisode('id', 1, policy).act(1, 'x'), str(policy).splitlines()[0])\n"
        "try: Client('http://127.0.0.1:1', retries=0).problems()\n"
        "except ServiceError as error: print(error.status)\n"
        "assert 'belated' not in sys.modules\n"
    )
    environment = {**os.environ, "no_proxy": "127.0.0.1", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [python, "-I", "-c", code, str(tmp_path)], capture_output=True, text=True, env=environment
    )
    assert done.stdout.splitlines() == ["b Policy of shop, version 1", "None"], done.stderr
