"""The examples run, and print and draw what they promise."""

import re
import runpy
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

import belated as bl
from belated.mdp.classics import riverswim

FOLDER = Path(__file__).parents[1] / "examples"
README = (FOLDER / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def ran(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str], tuple[str, dict[str, bytes]]]:
    """A function that runs a script, and returns its output and the files it writes."""

    def run(name: str) -> tuple[str, dict[str, bytes]]:
        path = str(FOLDER / f"{name}.py")
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", [path, "--fast"])
        runpy.run_path(path, run_name="__main__")
        files = {path.name: path.read_bytes() for path in tmp_path.rglob("*.*")}
        return capsys.readouterr().out, files

    return run


def numbers(text: str) -> list[float]:
    """Every number in a text."""
    return [float(found.replace(",", "")) for found in re.findall(r"-?[\d,]*\.?\d+|inf", text)]


def is_picture(data: bytes) -> bool:
    return data.startswith(b"\x89PNG")


def test_an_own_base_learns_beside_two_that_are_built_in(ran):
    text, files = ran("own_base")
    *lines, _ = text.splitlines()
    assert [line.split()[0] for line in lines] == ["MBIE-EB,", "UCBVI-BF", "UCRL2"]
    never_learning = 300 * bl.optimal_value(riverswim(6))
    for line in lines:
        regret, broken, runs = numbers(line.split("regret")[1])
        assert 0 < regret < 0.8 * never_learning
        assert (broken, runs) == (0, 3)
    assert is_picture(files["own_base.png"])


def test_delays_from_a_log_cost_regret_and_loss_costs_more(ran):
    text, files = ran("own_delays")
    first, *lines = text.splitlines()
    assert numbers(first) == [10, 12, 134]
    assert files["visits.csv"].count(b"\n") == 13
    regrets = [numbers(line.split("regret")[1])[0] for line in lines]
    missing = [numbers(line)[-1] for line in lines]
    assert 0 < regrets[0] < regrets[1] < regrets[2]
    assert 0 == missing[0] < missing[1] < missing[2]


def test_a_lake_is_learnt_by_stepping_it_with_returns_in_its_own_units(ran):
    text, _ = ran("frozen_lake")
    _, at_once, late, best = text.splitlines()
    world = bl.from_gymnasium("FrozenLake-v1", horizon=40, reward_schedule=(10, -1, 0))
    value = world.reward_map.original(bl.optimal_value(world), steps=40)
    assert numbers(best) == [round(value, 2)]
    returns = {}
    for name, line in (("at once", at_once), ("200 late", late)):
        *means, missing = numbers(line.removeprefix(name))
        assert len(means) == 8
        assert all(-1 <= mean <= 10 for mean in means)
        assert sum(means[4:]) > sum(means[:4]) + 4
        assert (missing > 0) == (name == "200 late")
        returns[name] = sum(means)
    assert returns["200 late"] < returns["at once"]


def test_alpha_is_advised_chosen_and_compared_for_each_delay(ran):
    text, _ = ran("choosing_alpha")
    parts = re.split(r"^Mean delay ", text, flags=re.MULTILINE)[1:]
    advice = []
    for part in parts:
        first, *rows, last = part.splitlines()
        advice.append(numbers(first)[1])
        assert numbers(last) == [pytest.approx(advice[-1], rel=0.2)]
        assert [row.split()[0] for row in rows] == ["1", "10", "100", "inf", "auto"]
        one, ten, hundred, active, auto = (numbers(row)[-1] for row in rows)
        assert one < ten < hundred < active
        assert one <= auto < hundred
    assert [int(numbers(part)[0]) for part in parts] == [0, 100, 500]
    assert advice[0] > advice[1] >= advice[2] >= 1


def test_sepsis_is_treated_by_three_bases_active_and_lazy_under_three_delays(ran):
    text, files = ran("sepsis")
    first, *lines, _ = text.splitlines()
    assert numbers(first) == [0.692, 0.792, 0.790]
    settings = set()
    for line in lines:
        base, updater, _, delay, treatments = re.split(r"[\s,]+", line)[:5]
        settings.add((base, updater, delay, treatments))
        *_, survival = numbers(line)
        assert 0.5 < survival < 0.8
    bases, delays = ("UBEV", "UCBVI-BF", "UCRL2"), ("0", "100", "500")
    compared = set(product(bases, ("active", "lazy"), delays, ("5",)))
    assert settings == compared | {("UBEV", "lazy", "0", "25")}
    assert len(lines) == 19
    assert is_picture(files["sepsis.png"])
