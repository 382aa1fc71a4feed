"""Options of a simulation are declared once, and reach it from every interface."""

import inspect
import subprocess
import sys
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args, get_type_hints

import pytest
from typer.testing import CliRunner

import belated as bl
from belated.cli.main import app
from belated.cli.support.run_settings import build_settings
from belated.options import (
    LearnerKeywords,
    LearnerOptions,
    SimulationKeywords,
    SimulationOptions,
    accepts,
    option_choices,
    option_values,
)
from belated.simulation import many
from belated.simulation.setting import Setting
from belated.sweep.cell import OLD_DEFAULTS, Cell
from belated.sweep.study import Study, read_study

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
CELL = Cell("chain-3", "ucrl2", "constant:2", "active", 20, (0, 1), rewards="unknown")
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


def test_every_option_has_a_help_text_choices_and_a_default_among_them() -> None:
    for options, declared in DECLARED.items():
        assert option_choices(options).keys() == {option.name for option in fields(options)}
        for option in declared:
            assert option.metadata["help"].endswith(".")
            assert option.default in option_choices(options)[option.name]


@pytest.mark.parametrize(
    ("keywords", "options"),
    [(LearnerKeywords, LearnerOptions), (SimulationKeywords, SimulationOptions)],
)
def test_keyword_types_are_those_of_the_options(keywords: type, options: type) -> None:
    expected = {option.name: option.type for option in DECLARED[options]}
    assert get_type_hints(keywords) == expected
    assert not keywords.__required_keys__  # type: ignore[attr-defined]


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


@pytest.mark.parametrize(("name", "value"), CHANGES)
def test_simulate_and_simulate_many_pass_an_option_to_the_setting(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Setting, "run", lambda setting, seed, **how: setting)
    monkeypatch.setattr(many, "run_seeds", lambda setting, seeds, **how: [setting])
    setting: Any = bl.simulate(bl.chain(3), **simulated(**{name: value}))
    assert getattr(setting, name) == value
    [setting] = bl.simulate_many(bl.chain(3), seeds=[0], **simulated(**{name: value}))
    assert getattr(setting, name) == value


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


@pytest.mark.parametrize(
    ("name", "value"), [change for change in CHANGES if change not in OLD_DEFAULTS.items()]
)
def test_values_listed_in_a_study_give_cells_with_different_ids_and_digests(
    name: str, value: str, tmp_path: Path
) -> None:
    default = getattr(SimulationOptions(), name)
    cells = cells_of(tmp_path, f"{name} = [{default!r}, {value!r}]")
    assert [getattr(cell, name) for cell in cells] == [default, value]
    for attribute in ("id", "setting", "digest"):
        assert len({getattr(cell, attribute) for cell in cells}) == 2


@pytest.mark.parametrize(("name", "value"), CHANGES)
def test_the_command_line_passes_an_option_to_the_setting(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings: list[Setting] = []

    def run_seeds(setting: Setting, seeds: Any, **how: Any) -> None:
        settings.append(setting)
        raise many.Interrupted([], len(seeds))

    monkeypatch.setattr(many, "run_seeds", run_seeds)
    flag = f"--{name.replace('_', '-')}"
    arguments = ["--world", "chain-3", "--base", "ucrl2", "--rewards", "unknown", flag, value]
    done = CliRunner().invoke(app, ["run", *arguments])
    assert done.exit_code == 130, done.output
    [setting] = settings
    assert getattr(setting, name) == value


@pytest.mark.parametrize(("name", "value"), CHANGES)
def test_the_command_that_repeats_a_run_holds_an_option_unless_it_is_the_default(
    name: str, value: str
) -> None:
    choices = {**option_values(SimulationOptions(), SimulationOptions), "rewards": "unknown"}
    flag = f" --{name.replace('_', '-')} "

    def command(**changed: str) -> str:
        return build_settings(
            world="chain-3",
            base_options={"ucrl2": {}},
            option_texts=[],
            updaters=["active"],
            delays=["constant:2"],
            episodes=20,
            seeds=2,
            **{**choices, **changed},
        ).command

    assert flag not in command()
    assert f"{flag}{value}" in command(**{name: value})


def test_the_help_of_run_lists_every_option() -> None:
    shown = " ".join(CliRunner().invoke(app, ["run", "--help"]).stdout.split())
    for option in DECLARED[SimulationOptions]:
        assert f"--{option.name.replace('_', '-')} " in shown
        assert option.metadata["help"] in shown


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
    assert f"'{flag}': {name} must be one of " in done.stderr


def test_studies_and_cells_have_no_options_of_their_own() -> None:
    names = {option.name for option in fields(SimulationOptions)}
    assert names <= set(Study.model_fields)
    assert names <= {option.name for option in fields(Cell)}
    assert names <= {option.name for option in fields(Setting)}


@dataclass(frozen=True, kw_only=True)
class ColourOptions(SimulationOptions):
    """The options of a simulation and one more."""

    colour: Literal["red", "blue"] = field(default="red", metadata={"help": "A colour."})


def test_an_added_field_is_checked_and_shown_in_signatures() -> None:
    @accepts(ColourOptions)
    def paint(**options: Any) -> ColourOptions:
        return ColourOptions(**options)

    assert option_values(paint(colour="blue"), ColourOptions)["colour"] == "blue"
    assert inspect.signature(paint).parameters["colour"].default == "red"
    with pytest.raises(ValueError, match=r"^colour must be one of 'red', 'blue', got 'x'\.$"):
        paint(colour="x")


def test_an_added_field_reaches_cells_studies_and_the_command_line() -> None:
    """Replace the options before anything else is imported, in another process."""
    script = """
from dataclasses import dataclass, field
from typing import Literal
from belated import options

@dataclass(frozen=True, kw_only=True)
class ColourOptions(options.SimulationOptions):
    colour: Literal["red", "blue"] = field(default="red", metadata={"help": "A colour."})

options.SimulationOptions = ColourOptions

from typer.testing import CliRunner
from belated.cli.main import app
from belated.simulation import many
from belated.sweep.study import Study

facts = dict(name="x", episodes=20, seeds=2, worlds=["chain-3"], bases=["ucrl2"],
             updaters=["active"], delays=["constant:2"])
[plain] = Study(**facts).cells()
red, blue = Study(**facts, colour=["red", "blue"]).cells()
assert (red.colour, blue.colour) == ("red", "blue")
assert red.digest == plain.digest != blue.digest
assert (red.id, blue.setting) == (plain.id, "chain-3/ucrl2-blue/constant-2/active")
assert blue.build().colour == "blue"

def run_seeds(setting, seeds, **how):
    print(setting.colour)
    raise many.Interrupted([], 0)

many.run_seeds = run_seeds
command = ["run", "--world", "chain-3", "--base", "ucrl2", "--colour", "blue"]
assert CliRunner().invoke(app, command).stdout == "blue\\n"
print(plain.digest)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [replace(CELL, rewards="known").digest]


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
