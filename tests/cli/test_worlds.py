import sys

import pytest
import typer
from typer.testing import CliRunner

import belated as bl
from belated.cli.worlds import worlds
from belated.mdp.worlds import WORLD_FAMILIES, MissingExtraError, parse_name

app = typer.Typer(rich_markup_mode=None)
app.command()(worlds)


def call():
    done = CliRunner().invoke(app, [])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(scope="module")
def printed():
    return call()


def test_there_is_a_row_for_each_kind_of_world(printed):
    rows = {line.split()[0] for line in printed.splitlines() if line.strip()}
    assert {family.example for family in WORLD_FAMILIES} <= rows


def test_a_row_has_the_size_the_value_and_the_source(printed):
    [row] = [line for line in printed.splitlines() if line.startswith(" riverswim-6 ")]
    value = f"{bl.optimal_value(parse_name('riverswim-6').build()):.4g}"
    assert row.split()[:7] == ["riverswim-6", "6", "2", "20", value, "22", "3"]
    assert row.rstrip().endswith("3  Strehl and Littman 2008; Osband et al. 2013")


def test_forms_of_other_sizes_are_told(printed):
    assert "Names of other sizes: chain-S, chain-S-right, riverswim-S, " in printed
    assert "garnet-S-A-B[-SEED][-H]" in printed
    assert "taxi" not in printed.partition("Names of other sizes")[2]


@pytest.mark.parametrize(("package", "extra"), [("gymnasium", "gym"), ("icu_sepsis", "icu")])
def test_a_missing_extra_is_told_in_its_row(package, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    missing = [family.example for family in WORLD_FAMILIES if family.requires == (package, extra)]
    lines = [
        line for line in call().splitlines() if f"needs pip install 'belated[{extra}]'" in line
    ]
    assert [line.split()[0] for line in lines] == missing
    with pytest.raises(MissingExtraError):
        parse_name(missing[0]).build()
