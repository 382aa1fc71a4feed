import subprocess
import sys

import pytest
import typer
import typer.main

import belated
from belated.cli.main import app, main

COMMANDS = (
    "reproduce",
    "run",
    "sweep",
    "figures",
    "calibrate",
    "bounds",
    "lateness",
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
    joined = "".join(out.split())  # lines may break at hyphens
    listed = "algorithms,alpha,bases-under-delay,calibrated-with-delay,delay-scaling,"
    assert listed in joined


def test_every_option_and_argument_of_every_command_has_a_help_text():
    waiting = [typer.main.get_command(app)]
    while waiting:
        command = waiting.pop()
        waiting += getattr(command, "commands", {}).values()
        for param in command.params:
            assert param.help, (command.name, param.name)


def test_version_is_that_of_the_package(call):
    assert call("--version") == (0, f"belated {belated.__version__}\n", "")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["fly"], "No such command 'fly'"),
        (["--fly"], "No such option: --fly"),
        (["reproduce", "--preset", "slow"], "'--preset'"),
        (["reproduce", "dann2017"], "dann2017"),
        (["sweep", "nowhere.toml"], "nowhere.toml cannot be read"),
        (
            ["figures", "nowhere"],
            "nowhere has no results that can be drawn: nowhere/study.json cannot",
        ),
    ],
)
def test_wrong_usage_leaves_with_2_and_says_what_is_wrong(arguments, sentence, call):
    code, out, err = call(*arguments)
    assert code == 2
    assert out == ""
    assert sentence in err


GIVE = "Give the folder that `belated sweep` or `belated reproduce` has written"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["figures", "file"], "file/study.json cannot be used: its folder is a file; choose"),
        (["figures", "empty"], "empty/study.json cannot be used: there is no such file or folder."),
        (["figures", "damaged"], "damaged/study.json is damaged: Expecting property name"),
        (["figures", "other"], "other/study.json is damaged: it needs the keys command"),
        (["figures", "folders"], "folders/study.json cannot be used: it is a folder, but must be"),
        (["figures", "unfinished"], "folder 'unfinished' holds no results. Give the folder"),
        (["sweep", "empty"], "empty cannot be read: Is a directory."),
        (["sweep", "binary.toml"], "binary.toml is not UTF-8 (invalid start byte at byte 0)."),
        (["sweep", "study.toml", "--out", "file"], "'--out': file cannot be used: it exists and"),
        (["reproduce", "--out", "file"], "'--out': file cannot be used: it exists and is not"),
        (
            ["show", "chain-3", "--plot", "file/x.pdf"],
            "'--plot': file cannot be used: it exists and",
        ),
        (["ledger", "restore", "empty"], "'FILE': empty is a folder, but must be a SQLite file."),
        (["token", "list", "--store", "sqlite:///nowhere/x.db"], "There is no file nowhere/x.db;"),
        (["serve", "--port", "0", "--store", "sqlite:///empty"], "Is a directory."),
    ],
)
def test_a_file_or_folder_that_cannot_be_used_is_named_with_the_reason(
    arguments, sentence, call, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("text")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    for name, content in {
        "damaged": "{",
        "other": "[]",
        "unfinished": '{"command": "belated sweep"}',
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "study.json").write_text(content)
    (tmp_path / "folders" / "study.json").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    (tmp_path / "study.toml").write_text(
        'name = "small"\nepisodes = 9\nseeds = 1\nworlds = ["chain-3"]\nbases = ["ucrl2"]\n'
        'updaters = ["active"]\ndelays = ["constant:0"]\n'
    )
    code, out, err = call(*arguments)
    assert code == 2
    assert out == ""
    text = " ".join(err.split())
    assert sentence in text
    assert "Errno" not in text
    assert (GIVE in text) == (arguments[0] == "figures")


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
