"""Options of a simulation are declared once, and reach it from every interface."""

import inspect
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_args

import pytest
from typer.testing import CliRunner

import belated as bl
from belated.cli.main import app
from belated.options import (
    LearnerOptions,
    SimulationOptions,
    option_choices,
)
from belated.simulation import many
from belated.simulation.simulation import Simulation
from belated.sweep.cell import Cell
from belated.sweep.study import read_study

DECLARED = {
    options: [option for option in fields(options) if "help" in option.metadata]
    for options in (LearnerOptions, SimulationOptions)
}
CHANGES = [
    (option.name, value)
    for option in DECLARED[SimulationOptions]
    for value in get_args(option.type)
    if value != option.default
]
LEARNER_CHANGES = [
    (option.name, value)
    for option in DECLARED[LearnerOptions]
    for value in get_args(option.type)
    if value != option.default
]
CELL = Cell(
    world="chain-3",
    base="ucrl2",
    delay="constant:2",
    updater="active",
    episodes=20,
    seeds=(0, 1),
    rewards="unknown",
)
STUDY = """
name = "small"
episodes = 20
seeds = 2
worlds = ["chain-3"]
bases = ["ucrl2"]
updaters = ["active"]
delays = ["constant:2"]
rewards = "unknown"
"""


def cells_of(folder: Path, line: str) -> list[Cell]:
    """Return the cells of a small study file with an added `line`."""
    file = folder / "study.toml"
    file.write_text(f"{STUDY}{line}\n")
    return read_study(file).cells()


def simulated(**options: Any) -> dict[str, Any]:
    """Return the arguments of `simulate` for a small problem, with `options`."""
    learner = {"base": bl.UCRL2(), "updater": bl.Active(), "rewards": "unknown"}
    return {**learner, "episodes": 20, **options}


@pytest.mark.parametrize(
    ("function", "options"),
    [
        (bl.simulate, SimulationOptions),
        (bl.simulate_many, SimulationOptions),
        (bl.Learner, LearnerOptions),
    ],
)
def test_signatures_show_every_option_with_its_default(function: Any, options: type) -> None:
    parameters = inspect.signature(function).parameters
    for option in DECLARED[options]:
        assert parameters[option.name].default == option.default
        assert parameters[option.name].annotation == option.type
    assert all(parameter.kind is not parameter.VAR_KEYWORD for parameter in parameters.values())


@pytest.mark.parametrize(("name", "value"), LEARNER_CHANGES)
def test_a_learner_and_its_snapshot_keep_an_option(name: str, value: str) -> None:
    learner = bl.Learner(bl.Shape(2, 2, 2), **simulated(**{name: value}))
    assert getattr(learner._problem, name) == value
    restored = bl.Learner.restore(learner.snapshot(), base=bl.UCRL2(), updater=bl.Active())
    assert getattr(restored._problem, name) == value


@pytest.mark.parametrize(("name", "value"), CHANGES)
def test_a_study_file_passes_an_option_to_the_setting(
    name: str, value: str, tmp_path: Path
) -> None:
    [cell] = cells_of(tmp_path, f"{name} = {value!r}")
    assert cell == replace(CELL, **{name: value})  # type: ignore[arg-type]
    assert getattr(cell.build(), name) == value


@pytest.mark.parametrize(("name", "value"), CHANGES)
def test_the_command_line_passes_an_option_to_the_setting(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings: list[Simulation] = []

    def run_seeds(setting: Simulation, seeds: Any, **how: Any) -> None:
        settings.append(setting)
        raise many.Interrupted([], len(seeds))

    monkeypatch.setattr(many, "run_seeds", run_seeds)
    flag = f"--{name.replace('_', '-')}"
    arguments = ["--world", "chain-3", "--base", "ucrl2", "--rewards", "unknown", flag, value]
    done = CliRunner().invoke(app, ["run", *arguments])
    assert done.exit_code == 130, done.output
    [setting] = settings
    assert getattr(setting, name) == value


@pytest.mark.parametrize("name", option_choices(SimulationOptions))
def test_an_invalid_value_is_rejected_everywhere_with_the_allowed_ones(
    name: str, tmp_path: Path
) -> None:
    message = rf"^{name} must be one of .*, got 'x'\.$"
    with pytest.raises(ValueError, match=message):
        bl.simulate(bl.chain(3), **simulated(**{name: "x"}))
    with pytest.raises(ValueError, match=message):
        replace(CELL, **{name: "x"})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=rf"key '{name}' must be one or a list of .*, got 'x'"):
        cells_of(tmp_path, f"{name} = 'x'")
    flag = f"--{name.replace('_', '-')}"
    done = CliRunner().invoke(app, ["run", "--world", "chain-3", "--base", "ucrl2", flag, "x"])
    assert done.exit_code == 2
    assert f"'{flag}': " in done.stderr
    assert "'x' is not one of " in done.stderr


@pytest.mark.parametrize("function", [bl.simulate, bl.simulate_many])
def test_a_missing_or_unknown_argument_is_reported_with_the_name_of_the_function(
    function: Any,
) -> None:
    given: dict[str, Any] = {"base": bl.UCRL2(), "updater": bl.Active()}
    if function is bl.simulate_many:
        given["seeds"] = [0]
    name = function.__name__
    expected = rf"^{name}\(\) needs the argument episodes; add episodes=\.\.\. to the call\.$"
    with pytest.raises(TypeError, match=expected):
        function(bl.chain(3), **given)
    expected = rf"^{name}\(\) has no argument 'epsiodes'; its arguments are world, .*episodes"
    with pytest.raises(TypeError, match=expected):
        function(bl.chain(3), **given, episodes=2, epsiodes=2)
    with pytest.raises(TypeError, match=r" no argument 'episode';.* Did you mean 'episodes'"):
        function(bl.chain(3), **given, episode=10)
