import sys

import pytest
import typer
from typer.testing import CliRunner

import belated as bl
from belated.cli.worlds import worlds
from belated.mdp.worlds import KINDS, MissingExtraError, look_up

app = typer.Typer(rich_markup_mode=None)
app.command()(worlds)


def call():
    done = CliRunner().invoke(app, [])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_there_is_a_row_for_each_kind_of_world():
    rows = {line.split()[0] for line in call().splitlines() if line.strip()}
    assert {kind.example for kind in KINDS} <= rows


def test_a_row_has_the_size_the_value_and_the_source():
    [row] = [line for line in call().splitlines() if line.startswith(" riverswim-6 ")]
    value = f"{bl.optimal_value(look_up('riverswim-6').make()):.4g}"
    assert row.split()[:7] == ["riverswim-6", "6", "2", "20", value, "22", "3"]
    assert row.rstrip().endswith("3  Strehl and Littman 2008; Osband et al. 2013")


def test_forms_of_other_sizes_are_told():
    out = call()
    assert "Names of other sizes: chain-S, chain-S-right, riverswim-S, " in out
    assert "garnet-S-A-B[-SEED]" in out
    assert "icu-sepsis," not in out


@pytest.mark.parametrize(("package", "extra"), [("gymnasium", "gym"), ("icu_sepsis", "icu")])
def test_a_missing_extra_is_told_in_its_row(package, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    missing = [kind.example for kind in KINDS if kind.needs == (package, extra)]
    lines = [
        line for line in call().splitlines() if f"needs pip install 'belated[{extra}]'" in line
    ]
    assert [line.split()[0] for line in lines] == missing
    with pytest.raises(MissingExtraError):
        look_up(missing[0]).make()
