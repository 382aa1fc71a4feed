"""Options of learners and simulations, declared once.

`Learner`, `simulate`, cells, studies, the command line and the service derive their options from
these records, so that an option added here is available everywhere. Imports nothing slow.
"""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Literal, TypedDict, TypeVar, get_args

from belated.arguments import check_choice

Stages = Literal["each", "pooled"]
Late = Literal["everything", "rewards"]
RewardBonus = Literal["hoeffding", "paper", "jaksch", "filippi", "bernstein", "ubev"]
Planning = Literal["incremental", "full"]
SimulationPlanning = Literal["incremental", "full", "none"]
DelayPer = Literal["episode", "step"]

Callee = TypeVar("Callee", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class LearnerOptions:
    """Options of a learner, each with a default.

    Parameters
    ----------
    stages : {"each", "pooled"}
        Count each step separately, or pool the counts of all steps, where a world is the same at
        every step.
    late : {"everything", "rewards"}
        What arrives late. With "rewards", `observe_path` reports an episode at its end and
        `observe_rewards` its rewards. The updater then decides when the estimated rewards change;
        transitions are used at once.
    reward_bonus : str
        Bonus of unknown rewards, see `belated.learner.rewards`.
    planning : {"incremental", "full"}
        Plan only what changed, or everything; the results are identical.
    """

    stages: Stages = field(
        default="each",
        metadata={"help": "Counts: 'each' keeps one table per step, 'pooled' sums over steps."},
    )
    late: Late = field(
        default="everything",
        metadata={"help": "What is delayed: 'everything', or only 'rewards'."},
    )
    reward_bonus: RewardBonus = field(
        default="hoeffding", metadata={"help": "Bonus of unknown rewards."}
    )
    planning: Planning = field(
        default="incremental",
        metadata={"help": "Plan what changed ('incremental'), or everything ('full')."},
    )

    def __post_init__(self) -> None:
        for name, choices in option_choices(type(self)).items():
            check_choice(name, getattr(self, name), choices)

    @property
    def late_rewards(self) -> bool:
        """Whether only rewards are late, and a path is known when it has been played."""
        return self.late == "rewards"


@dataclass(frozen=True, kw_only=True)
class SimulationOptions(LearnerOptions):
    """Options of a simulation: those of the learner, and how feedback is delayed.

    Parameters
    ----------
    planning : {"incremental", "full", "none"}
        "none" keeps the first plan, to measure the cost of everything else.
    delay_per : {"episode", "step"}
        Draw one delay for each episode, or one for each step of it.
    """

    planning: SimulationPlanning = field(  # type: ignore[assignment]
        default="incremental",
        metadata={
            "help": "Plan what changed ('incremental'), everything ('full'), or once ('none')."
        },
    )
    delay_per: DelayPer = field(
        default="episode",
        metadata={"help": "Draw one delay for each 'episode', or for each 'step'."},
    )


class LearnerKeywords(TypedDict, total=False):
    """Types of `LearnerOptions` as keyword arguments."""

    stages: Stages
    late: Late
    reward_bonus: RewardBonus
    planning: Planning


class SimulationKeywords(TypedDict, total=False):
    """Types of `SimulationOptions` as keyword arguments."""

    stages: Stages
    late: Late
    reward_bonus: RewardBonus
    planning: SimulationPlanning
    delay_per: DelayPer


def option_choices(options: type[LearnerOptions]) -> dict[str, tuple[str, ...]]:
    """Return the allowed values of each option declared by the dataclass `options`, by name."""
    return {
        option.name: get_args(option.type)
        for option in fields(options)
        if "help" in option.metadata
    }


def option_values(source: LearnerOptions, options: type[LearnerOptions]) -> dict[str, Any]:
    """Return the values that `source` has for the options of the dataclass `options`, by name."""
    return {name: getattr(source, name) for name in option_choices(options)}


def extend_signature(function: Callee, added: list[inspect.Parameter]) -> Callee:
    """Return `function`, which takes `**keywords`, with the parameters `added` in its signature."""
    signature = inspect.signature(function)
    named = [
        parameter
        for parameter in signature.parameters.values()
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    function.__signature__ = signature.replace(parameters=[*named, *added])  # type: ignore[attr-defined]
    return function


def accepts(
    options: type[LearnerOptions], *, omit: tuple[str, ...] = ()
) -> Callable[[Callee], Callee]:
    """Return a decorator that lists the fields of a dataclass in the signature of a function.

    The function takes them as `**keywords`; `help` and notebooks then show every option.

    Parameters
    ----------
    options : type
        The dataclass.
    omit : tuple of str
        Fields that are not listed.

    Returns
    -------
    callable
        The decorator.
    """
    added = [
        inspect.Parameter(
            option.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if option.default is MISSING else option.default,
            annotation=option.type,
        )
        for option in fields(options)
        if option.name not in omit
    ]
    added.sort(key=lambda parameter: parameter.default is not inspect.Parameter.empty)
    return lambda function: extend_signature(function, added)
