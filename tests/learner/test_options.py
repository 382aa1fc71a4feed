"""Options are declared once: what is declared is accepted, shown, typed and used everywhere."""

import inspect
from collections.abc import Callable
from dataclasses import Field, fields
from typing import Any, get_args, get_type_hints

import pytest

import belated as bl
from belated.learner.problem import (
    LearnerKeywords,
    LearnerOptions,
    LearningProblem,
    option_choices,
)
from belated.simulation.setting import Setting, SimulationKeywords, SimulationOptions

PARTS: dict[str, Any] = {"base": bl.UCRL2(), "updater": bl.Active(), "episodes": 5}
DECLARED: dict[Callable[..., Any], type[LearnerOptions]] = {
    bl.Learner: LearnerOptions,
    bl.simulate: SimulationOptions,
    bl.simulate_many: SimulationOptions,
}
every_function = pytest.mark.parametrize(
    ("function", "options"), DECLARED.items(), ids=lambda part: part.__name__
)


def shown(options: type[LearnerOptions]) -> list[Field[Any]]:
    """Return the fields that users may set: those with a help text."""
    return [field for field in fields(options) if "help" in field.metadata]


def other_choices(options: type[LearnerOptions]) -> list[Any]:
    """Return each option with each choice that is not its default."""
    return [
        pytest.param(field.name, choice, id=f"{field.name}-{choice}")
        for field in shown(options)
        for choice in get_args(field.type)
        if choice != field.default
    ]


def test_the_options_are_those_of_the_documentation() -> None:
    learner = {"stages", "late", "reward_bonus", "planning"}
    assert {field.name for field in shown(LearnerOptions)} == learner
    assert {field.name for field in shown(SimulationOptions)} == learner | {"delay_per"}


@pytest.mark.parametrize("options", [LearnerOptions, SimulationOptions])
def test_every_option_has_a_help_text_a_default_and_choices(options: type[LearnerOptions]) -> None:
    for field in fields(options):
        assert field.metadata["help"].endswith(".")
        assert len(get_args(field.type)) > 1
        assert field.default in get_args(field.type)
        assert option_choices(options)[field.name] == get_args(field.type)


@every_function
def test_every_option_is_a_parameter_in_the_signature(
    function: Callable[..., Any], options: type[LearnerOptions]
) -> None:
    parameters = inspect.signature(function).parameters
    for field in shown(options):
        parameter = parameters[field.name]
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
        assert parameter.default == field.default
        assert parameter.annotation == field.type
    kinds = {parameter.kind for parameter in parameters.values()}
    assert inspect.Parameter.VAR_KEYWORD not in kinds


@pytest.mark.parametrize(
    ("keywords", "options"),
    [(LearnerKeywords, LearnerOptions), (SimulationKeywords, SimulationOptions)],
)
def test_keywords_have_the_types_of_the_options(
    keywords: type, options: type[LearnerOptions]
) -> None:
    assert get_type_hints(keywords) == {field.name: field.type for field in shown(options)}
    assert keywords.__optional_keys__ == get_type_hints(keywords).keys()  # type: ignore[attr-defined]


@every_function
def test_an_undeclared_option_is_refused(
    function: Callable[..., Any], options: type[LearnerOptions]
) -> None:
    given = {"seeds": [1]} if function is bl.simulate_many else {}
    first = bl.Shape(2, 2, 2) if options is LearnerOptions else bl.chain(3)
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        function(first, **PARTS, **given, rewards=None, colour="red")


@pytest.mark.parametrize("options", [LearnerOptions, SimulationOptions])
def test_a_value_that_is_no_choice_is_refused(options: type[LearnerOptions]) -> None:
    for field in shown(options):
        with pytest.raises(ValueError, match=rf"^{field.name} must be one of .*, got 'other'\.$"):
            options(**{field.name: "other"})


def used(setting: Setting, name: str) -> Any:
    """Return the value of an option in the learning problem of a run."""
    return getattr(setting.problem(0), name)


@pytest.mark.parametrize(("name", "choice"), other_choices(LearnerOptions))
def test_a_choice_reaches_the_problem_of_a_learner(name: str, choice: str) -> None:
    learner = bl.Learner(bl.Shape(2, 2, 2), **PARTS, rewards=None, **{name: choice})
    assert learner.snapshot()["options"][name] == choice
    problem = LearningProblem(shape=bl.Shape(2, 2, 2), **PARTS, **{name: choice})
    assert getattr(problem, name) == choice


@pytest.mark.parametrize("function", [bl.simulate, bl.simulate_many])
@pytest.mark.parametrize(("name", "choice"), other_choices(SimulationOptions))
def test_a_choice_reaches_the_problem_of_a_run(
    name: str, choice: str, function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings: list[Setting] = []
    monkeypatch.setattr(Setting, "run", lambda self, *arguments: settings.append(self))
    seeds: Any = {"seeds": [1]} if function is bl.simulate_many else {"seed": 1}
    function(bl.chain(3), **PARTS, **seeds, rewards=None, **{name: choice})
    for setting in settings:
        assert getattr(setting, name) == choice
        if name in option_choices(LearnerOptions):
            # no plan after the first one is a matter of the engine, not of the learner
            assert used(setting, name) == ("incremental" if choice == "none" else choice)
    assert settings


@pytest.mark.parametrize("function", [bl.simulate, bl.simulate_many])
def test_without_a_choice_the_defaults_reach_the_problem_of_a_run(
    function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings: list[Setting] = []
    monkeypatch.setattr(Setting, "run", lambda self, *arguments: settings.append(self))
    seeds: Any = {"seeds": [1]} if function is bl.simulate_many else {"seed": 1}
    function(bl.chain(3), **PARTS, **seeds)
    for field in shown(SimulationOptions):
        assert getattr(settings[0], field.name) == field.default
    for field in shown(LearnerOptions):
        assert used(settings[0], field.name) == field.default
