import subprocess
import sys

import pytest

import belated
from belated.cli.main import main

COMMANDS = (
    "reproduce",
    "run",
    "sweep",
    "figures",
    "calibrate",
    "bounds",
    "worlds",
    "show",
    "serve",
    "demo",
    "token",
    "ledger",
)


@pytest.fixture
def call(monkeypatch, capsys):
    """Call the command line; gives the exit code and what was printed."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["belated", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        printed = capsys.readouterr()
        return left.value.code, printed.out, printed.err

    return run


def test_help_names_the_commands(call):
    code, out, _ = call("--help")
    assert code == 0
    assert "Usage: belated" in out
    for command in COMMANDS:
        assert f"\n  {command} " in out


def test_the_help_of_sweep_names_the_packaged_studies(call):
    code, out, _ = call("sweep", "--help")
    assert code == 0
    assert "algorithms,alpha,late-rewards" in "".join(out.split())  # lines may break at hyphens


def test_version_is_that_of_the_package(call):
    assert call("--version") == (0, f"belated {belated.__version__}\n", "")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["fly"], "No such command 'fly'"),
        (["--fly"], "No such option: --fly"),
        (["reproduce", "--seeds", "0"], "'--seeds'"),
        (["reproduce", "--preset", "slow"], "'--preset'"),
        (["reproduce", "dann2017"], "dann2017"),
        (["reproduce", "--scheduler", "local:many", "--seeds", "1"], "must be 'local:N'"),
        (["sweep", "nowhere.toml"], "nowhere.toml cannot be read"),
        (["figures", "nowhere"], "nowhere has no results"),
    ],
)
def test_wrong_usage_leaves_with_2_and_says_what_is_wrong(arguments, sentence, call):
    code, out, err = call(*arguments)
    assert code == 2
    assert out == ""
    assert sentence in err


def test_no_command_shows_the_help_and_leaves_with_2(call):
    code, out, err = call()
    assert code == 2
    assert "Usage: belated" in out + err


def test_python_m_belated_is_the_same_command(tmp_path):
    def run(*arguments):
        command = [sys.executable, "-m", "belated", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    assert run("--version").stdout == f"belated {belated.__version__}\n"
    done = run("fly")
    assert done.returncode == 2
    assert "Usage: belated" in done.stderr


def test_the_command_line_loads_nothing_heavy_before_a_command_runs():
    script = (
        "import sys, belated.cli.main; "
        "print(sorted({'numpy', 'numba', 'scipy', 'matplotlib', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr
