"""Options of learners and simulations.

`Learner`, `simulate`, sweeps, the command line and the service derive their options from these
dataclasses, so that each option is declared only once. To keep the command line fast, this module
imports no slow modules.
"""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import wraps
from typing import Any, Final, Literal, TypeVar, cast, get_args

from belated.check import check_choices, did_you_mean, similar

Stages = Literal["each", "pooled"]
Late = Literal["everything", "rewards"]
RewardBonus = Literal["hoeffding", "paper", "jaksch", "filippi", "bernstein", "ubev"]
Planning = Literal["auto", "incremental", "full"]
SimulationPlanning = Literal["auto", "incremental", "full", "none"]
DelayPer = Literal["episode", "step"]

Callee = TypeVar("Callee", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class LearnerOptions:
    """Options of a learner, each with a default.

    Parameters
    ----------
    stages : {"each", "pooled"}
        Count each step separately, or pool the counts of all steps. Pooled counts are for
        time-homogeneous worlds.
    late : {"everything", "rewards"}
        Part of the feedback that is delayed. With "rewards", the path of an episode is passed to
        `Learner.observe_path` when the episode ends, and its rewards to `Learner.observe_rewards`
        when they arrive. The learner then uses transitions at once; the updater decides when
        the estimated rewards are updated.
    reward_bonus : str
        Bonus of unknown rewards; see `belated.learner.rewards`.
    planning : {"auto", "incremental", "full"}
        Values that each plan recomputes. "incremental" recomputes only values that can have
        changed, and "full" all values; "auto" is "incremental". The results are identical.
    """

    stages: Stages = field(
        default="each",
        metadata={"help": "Counts: 'each' keeps one table per step, 'pooled' sums over steps."},
    )
    late: Late = field(
        default="everything",
        metadata={"help": "Part of the feedback that is delayed: 'everything' or 'rewards'."},
    )
    reward_bonus: RewardBonus = field(
        default="hoeffding", metadata={"help": "Bonus of unknown rewards."}
    )
    planning: Planning = field(
        default="auto",
        metadata={
            "help": "Recompute changed values ('incremental'), all values ('full'), or choose "
            "for each stage ('auto')."
        },
    )

    def __post_init__(self) -> None:
        check_choices(self)

    @property
    def late_rewards(self) -> bool:
        """Whether only rewards are delayed, and the path is observed when the episode ends."""
        return self.late == "rewards"


@dataclass(frozen=True, kw_only=True)
class SimulationOptions(LearnerOptions):
    """Options of a simulation: those of `LearnerOptions`, with these differences.

    Parameters
    ----------
    planning : {"auto", "incremental", "full", "none"}
        "auto", "incremental" and "full" are as in `LearnerOptions`. "none" keeps the first plan for
        the whole run; it serves to measure the time that the simulation takes without planning.
    delay_per : {"episode", "step"}
        Draw one delay for each episode, or one delay for each step.
    """

    planning: SimulationPlanning = field(  # type: ignore[assignment]
        default="auto",
        metadata={
            "help": "Recompute changed values in each plan ('incremental', 'auto') or all values "
            "('full'); 'none' keeps the first plan."
        },
    )
    delay_per: DelayPer = field(
        default="episode",
        metadata={"help": "Draw one delay for each 'episode' or for each 'step'."},
    )


UNNAMED: Final = ("", "base", "updater")
"""Values that the attribute `name` of a base or an updater has if its class defines no name."""

MAX_OPTION_CHARS: Final = 20
"""Maximum length, in characters, of the value of an option in the name of a base or an updater.
Options with longer values are omitted."""


def option_choices(options: type[LearnerOptions]) -> dict[str, tuple[str, ...]]:
    """Return a dict from the name of each option in the dataclass `options` to its choices."""
    return {
        option.name: get_args(option.type)
        for option in fields(options)
        if "help" in option.metadata
    }


CHOICES: Final = {"rewards": ("known", "unknown"), **option_choices(SimulationOptions)}
"""Map from "rewards", and from the name of each option of a simulation, to its allowed values."""


def option_values(source: LearnerOptions, options: type[LearnerOptions]) -> dict[str, Any]:
    """Return a dict from the name of each option to its value in `source`.

    The options are those declared in the dataclass `options`.
    """
    return {name: getattr(source, name) for name in option_choices(options)}


def part_name(part: object) -> str:
    """Return the name of `part`, a base or an updater.

    This is its attribute `name`, or the name of its class if it defines no `name`.
    """
    name = getattr(part, "name", "")
    return name if isinstance(name, str) and name not in UNNAMED else type(part).__name__


def name_with_options(part: object) -> str:
    """Return the name of a base or an updater, with the options that differ from their defaults.

    `part` is the base or updater. An option without a default is given by its value alone. Options
    with long values, such as arrays, are omitted. A part may define `full_name`, which is returned.

    >>> from belated.learner.bases import UCRL2
    >>> from belated.learner.updaters import Lazy
    >>> name_with_options(UCRL2(scale=0.1)), name_with_options(Lazy(10))
    ('ucrl2:scale=0.1', 'lazy:10')
    """
    full_name = getattr(part, "full_name", None)
    if isinstance(full_name, str):
        return full_name
    name = part_name(part)
    values = []
    for option in fields(part) if is_dataclass(part) else ():
        value = getattr(part, option.name)
        text = f"{value:g}" if isinstance(value, float) else str(value)
        if len(text) > MAX_OPTION_CHARS:
            continue
        if option.default is MISSING:
            values.append(text)
        elif value != option.default:
            values.append(f"{option.name}={text}")
    return ":".join([name, ",".join(values)]) if values else name


def extend_signature(function: Callee, added: list[inspect.Parameter]) -> Callee:
    """Return `function` with a signature that lists the parameters `added`.

    `function` must take `**keywords`. In the signature, the added parameters replace `**keywords`.
    """
    signature = inspect.signature(function)
    named = [
        parameter
        for parameter in signature.parameters.values()
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    function.__signature__ = signature.replace(parameters=[*named, *added])  # type: ignore[attr-defined]
    return function


def check_keywords(function: Callable[..., Any], given: Iterable[str]) -> None:
    """Raise TypeError if keyword arguments of `function` are unknown or missing.

    `given` are the names that were passed as `**keywords`. The message names `function`, which must
    have a signature made by `accepts`.
    """
    names, name = set(given), function.__qualname__.removesuffix(".__init__")
    parameters = inspect.signature(function).parameters
    for unknown in sorted(names - parameters.keys()):
        known = [name for name in parameters if name != "self"]
        raise TypeError(
            f"{name}() has no argument {unknown!r}; its arguments are {', '.join(known)}."
            f"{did_you_mean(similar(unknown, known))}"
        )
    for parameter in parameters.values():
        required = parameter.default is inspect.Parameter.empty
        if required and parameter.kind is parameter.KEYWORD_ONLY and parameter.name not in names:
            missing = parameter.name
            raise TypeError(
                f"{name}() needs the argument {missing}; add {missing}=... to the call."
            )


def accepts(
    options: type[LearnerOptions], *, omit: tuple[str, ...] = ()
) -> Callable[[Callee], Callee]:
    """Return a decorator that lists the fields of a dataclass in the signature of a function.

    The function must take the fields as `**keywords`. Because of the decorator, `help` and
    notebooks show every field as a parameter, and TypeError is raised if an argument is missing or
    unknown; see `check_keywords`.

    Parameters
    ----------
    options : type
        Dataclass with the fields to list.
    omit : tuple of str
        Names of fields that are not listed.

    Returns
    -------
    callable
        Decorator.
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

    def decorate(function: Callee) -> Callee:
        listed = extend_signature(function, added)

        @wraps(listed)
        def checked(*arguments: Any, **keywords: Any) -> Any:
            check_keywords(listed, keywords)
            return listed(*arguments, **keywords)

        return cast(Callee, checked)

    return decorate
