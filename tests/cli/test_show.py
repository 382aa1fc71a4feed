import re

import pytest
import typer
from typer.testing import CliRunner

from belated.cli.worlds import show

app = typer.Typer(rich_markup_mode=None)
app.command()(show)


def call(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


def fact(out, name):
    """Return the text of the row with this name."""
    [line] = [line for line in out.splitlines() if line.startswith(f" {name} ")]
    return line.removeprefix(f" {name} ").strip()


def test_the_facts_of_a_world_are_told():
    done = call("riverswim-6")
    assert done.exit_code == 0
    assert done.stdout.startswith("riverswim-6 (riverswim-S): S states along a river, 20 steps;")
    assert fact(done.stdout, "size") == "6 states, 2 actions, 20 steps"
    assert fact(done.stdout, "first state") == "0"
    assert fact(done.stdout, "V*") == "3.39726"
    assert fact(done.stdout, "actions") == "0 left, 1 right"
    assert fact(done.stdout, "successors") == "22, at most 3 per state and action"
    assert fact(done.stdout, "source") == "Strehl and Littman 2008; Osband et al. 2013"


def test_the_policy_is_a_row_for_each_state_and_a_column_for_each_stretch_of_steps():
    out = call("chain-4").stdout
    table = out[out.index(" State") :].split("\n")
    assert table[0].split() == ["State", "1", "2", "3", "4"]
    assert [row.split() for row in table[2:6]] == [
        ["0", "→", "·", "·", "·"],
        ["1", "→", "→", "·", "·"],
        ["2", "→", "→", "→", "·"],
        ["3", "→", "→", "→", "·"],
    ]
    assert " State  1-14  15-16  17  18  19  20 " in call("riverswim-6").stdout


def test_actions_without_names_are_told_by_number():
    out = call("garnet-6-3-2").stdout
    assert "\n actions" not in out
    rows = re.findall(r"^ ([0-5]) +(\S) +(\S) *$", out, re.MULTILINE)
    assert [row[0] for row in rows] == ["0", "1", "2", "3", "4", "5"]
    assert {sign for row in rows for sign in row[1:]} == {"0", "1", "2"}


def test_the_policy_of_a_grid_is_a_picture():
    out = call("grid-2x3").stdout
    assert out.endswith("\n\n  → → ↓\n  → → ·\n")


def test_terminal_states_are_told_and_marked():
    out = call("frozen-lake-4x4").stdout
    assert fact(out, "terminal") == "5 states"
    assert "equally good, ■ where the episode ends):" in out
    picture = [line.split() for line in out.splitlines()[-4:]]
    assert [row.count("■") for row in picture] == [0, 2, 1, 2]
    assert "■" not in call("grid-3x4").stdout


@pytest.mark.parametrize("name", ["chain-21", "grid-21x20"])
def test_a_policy_too_big_to_print_is_not(name):
    out = call(name).stdout
    assert re.search(r"The optimal policy is too large to print: \d+ states, \d+ steps\.\n$", out)


def test_a_plot_is_drawn_as_pdf_and_png(tmp_path):
    done = call("deep-sea-4", "--plot", tmp_path / "new" / "sea.png")
    assert done.exit_code == 0
    files = [tmp_path / "new" / "sea.pdf", tmp_path / "new" / "sea.png"]
    assert done.stdout.endswith(f"{files[0]}\n{files[1]}\n")
    assert all(file.stat().st_size > 0 for file in files)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["fly"], "world must be one of chain-S, chain-S-right, "),
        (["chain-1"], "S must be at least 2, got 1."),
        (["chain-5", "--plot", "x.jpg"], "'--plot': plot must end in .pdf, .png or have no"),
        (["chain-13", "--plot", "x"], "'--plot': 13 states are too many to draw; at most 12 fit."),
        (["garnet-6-3-2", "--plot", "x"], "'--plot': 36 successors are too many to draw; "),
    ],
)
def test_wrong_usage_leaves_with_2_and_a_sentence(arguments, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = call(*arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert sentence in done.stderr
    assert list(tmp_path.iterdir()) == []
