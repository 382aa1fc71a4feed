import subprocess
import sys

import pytest

import belated
from belated.cli import reproduce
from belated.cli.main import main
from belated.simulation.many import Interrupted


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
    assert "reproduce  Run the experiments and draw their figures." in out


def test_version_is_that_of_the_package(call):
    assert call("--version") == (0, f"belated {belated.__version__}\n", "")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["fly"], "No such command 'fly'"),
        (["--fly"], "No such option: --fly"),
        (["reproduce", "--seeds", "0"], "'--seeds'"),
        (["reproduce", "--episodes", "many"], "'--episodes'"),
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


def test_a_file_in_place_of_the_folder_is_wrong_usage(call, tmp_path):
    taken = tmp_path / "taken"
    taken.write_text("")
    code, _, err = call("reproduce", "--out", taken)
    assert code == 2
    assert "'--out'" in err


def test_reproduce_draws_the_figure_and_prints_the_table(call, tmp_path):
    code, out, _ = call("reproduce", "--out", tmp_path / "new", "--seeds", 2, "--episodes", 60)
    assert code == 0
    for learner in ("Active", "Lazy, α = 100", "Lazy, α = 10", "Lazy, α = 1"):
        assert learner in out
    for kind, magic in (("pdf", b"%PDF"), ("png", b"\x89PNG")):
        path = tmp_path / "new" / f"chain-10-geometric-100.{kind}"
        assert path.read_bytes().startswith(magic)
        assert str(path) in out


def test_the_table_tells_mean_final_regret_and_the_band(call, tmp_path):
    runs = reproduce.study(seeds=1, episodes=60)
    final = runs["Lazy, α = 1"][0]
    _, out, _ = call("reproduce", "--out", tmp_path, "--seeds", 1, "--episodes", 60)
    row = next(line.split() for line in out.splitlines() if "α = 1 " in line)
    regret = f"{final.total_regret:,.1f}"
    assert row[-5:] == [regret, regret, "to", regret, str(final.updates)]


def test_ctrl_c_leaves_with_130_and_says_how_far_it_came(call, monkeypatch, tmp_path):
    def interrupted(**options):
        raise Interrupted([], 10)

    monkeypatch.setattr(reproduce, "study", interrupted)
    code, out, err = call("reproduce", "--out", tmp_path)
    assert (code, out, err) == (130, "", "Interrupted: 0 of 10 runs were finished.\n")


def test_the_command_line_loads_nothing_heavy_before_a_command_runs():
    script = (
        "import sys, belated.cli.main; "
        "print(sorted({'numpy', 'numba', 'scipy', 'matplotlib', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr
