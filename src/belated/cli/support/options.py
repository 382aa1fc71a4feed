"""Options of commands: help texts, options that several commands have, parsers and checks."""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeVar, get_origin

import typer

from belated.cli.support.errors import usage_errors
from belated.names import parse_value
from belated.options import SimulationOptions, extend_signature

if TYPE_CHECKING:
    from belated.sweep.study import Study

T = TypeVar("T")
Command = TypeVar("Command", bound=Callable[..., None])

HEADING: Final = "\n\nParameters\n----------\n"
"""Heading of the section of a docstring with the parameters."""

ENTRY: Final = re.compile(r"^(\w+)(?: : .*)?\n((?: .*\n?)+)", re.MULTILINE)
"""Regular expression for the name and the text of a parameter in this section."""

BaseOptions = dict[str, Any]
"""Map from the name of each option of a base to its value, such as {"scale": 0.1}."""

Count = Annotated[int, typer.Option(min=1)]
OptionalCount = Annotated[int | None, typer.Option(min=1)]
OptionalFile = Annotated[Path | None, typer.Option(dir_okay=False)]
Device = Literal["cpu", "gpu"]
JsonOption = Annotated[bool, typer.Option("--json")]


class SharedOptions:
    """Help texts of the options that several commands have.

    Parameters
    ----------
    base
        Base: ucrl2, ucrl2:scale=0.1, or module:name for your own. May be repeated.
    option
        key=value for all bases, BASE.key=value for one. May be repeated.
    delay
        Delay law such as geometric:100 (default constant:0), weekly:7:geometric:100 or
        by_action:0=constant:5,1=geometric:100; see the page on delays. May be repeated.
    episodes
        Number of episodes in each run.
    threads
        Number of runs computed at the same time; by default the number of processors. Does not
        affect results.
    as_json
        Print one JSON object.
    scheduler
        'local:N' for N processes, or the address of a Dask scheduler.
    shard
        Compute only part I of N, written I/N, for example in an array of jobs. All parts may write
        to the same folder.
    device
        'cpu', or 'gpu' to run on an NVIDIA GPU what it supports. Does not affect results.
    """


def help_from_docstring(*, envvar_prefix: str = "") -> Callable[[Command], Command]:
    """Return a decorator that gives the options of a command their help texts.

    The texts are those of the section "Parameters" of its docstring, or else of `SharedOptions`.
    The text before this section is the help text of the command itself. Parameters without an entry
    keep their declaration.

    Parameters
    ----------
    envvar_prefix : str
        Prefix of the environment variable of each option, such as "BELATED_"; empty for none.

    Returns
    -------
    callable
        Decorator.
    """

    def describe(parameter: inspect.Parameter, help: str | None) -> inspect.Parameter:
        declared: Any = parameter.annotation
        is_declared = get_origin(declared) is Annotated
        info = copy(declared.__metadata__[0]) if is_declared else typer.Option()
        info.help = help or info.help
        if envvar_prefix:
            info.envvar = envvar_prefix + parameter.name.upper()
        kind = declared.__origin__ if is_declared else declared
        return parameter.replace(annotation=Annotated[kind, info])

    def decorate(command: Command) -> Command:
        shared, text = inspect.getdoc(SharedOptions) or "", inspect.getdoc(command) or ""
        text, _, own = text.partition(HEADING)
        entries = ENTRY.findall(f"{shared.partition(HEADING)[2]}\n{own}")  # own entries take effect
        helps = {name: " ".join(entry.split()) for name, entry in entries}
        signature = inspect.signature(command)
        parameters = [
            describe(parameter, helps.get(name)) if name in helps or envvar_prefix else parameter
            for name, parameter in signature.parameters.items()
        ]
        command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        command.__doc__ = text
        return command

    return decorate


def takes_simulation_options(command: Command) -> Command:
    """Return `command` with an additional option for each field of `SimulationOptions`.

    The command receives the values of these options as `**choices`.
    """
    added = [
        inspect.Parameter(
            option.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=option.default,
            annotation=Annotated[option.type, typer.Option(help=option.metadata["help"])],
        )
        for option in fields(SimulationOptions)
    ]
    return extend_signature(command, added)


def parse_option(option: str, parse: Callable[..., T], *values: Any) -> T:
    """Return the parsed value of an option. Exit with a usage error if the value is invalid.

    Parameters
    ----------
    option : str
        Name of the option, such as "--world".
    parse : callable
        Function that checks and converts the value.
    *values : Any
        Arguments of `parse`.

    Returns
    -------
    Any
        The result of `parse`.
    """
    with usage_errors(option):
        return parse(*values)


def format_options(options: Mapping[str, object]) -> list[str]:
    """Return the texts "key=value" of `options`, from which `parse_value` restores the values.

    >>> format_options({"monotone": True, "scale": 0.1})
    ['monotone=true', 'scale=0.1']
    """
    words = {True: "true", False: "false"}
    return [
        f"{key}={words[value] if isinstance(value, bool) else value}"
        for key, value in options.items()
    ]


def parse_base_options(texts: Sequence[str], bases: Sequence[str]) -> dict[str, BaseOptions]:
    """Return a dict from each of `bases` to its options, parsed from `texts`.

    "key=value" sets an option of every base, and "base.key=value" an option of the bases with this
    name. Raise ValueError if a text has neither form, or names a base that is not in `bases`.

    >>> parse_base_options(["scale=0.1", "ucbvi-bf.preset=two_term"], ["ucrl2", "ucbvi-bf"])
    {'ucrl2': {'scale': 0.1}, 'ucbvi-bf': {'scale': 0.1, 'preset': 'two_term'}}
    """
    options: dict[str, BaseOptions] = {base: {} for base in bases}
    for text in texts:
        address, equals, value = text.partition("=")
        base, _, key = address.strip().rpartition(".")
        if not (equals and key and value.strip()):
            raise ValueError(f"option must be 'key=value', such as 'scale=0.1', got {text!r}.")
        addressed = [name for name in options if f"{name}:".startswith(f"{base}:") or not base]
        if not addressed:
            raise ValueError(
                f"option {text!r} is for the base {base!r}, which is not run; "
                f"bases are {', '.join(options)}."
            )
        for name in addressed:
            options[name][key] = parse_value(value.strip())
    return options


def build_study(bases: Sequence[str], options: Sequence[str], **keys: Any) -> "Study":
    """Return a study, whose keys are given by options of a command.

    The label of each base is its text, whose options take precedence over --option. Exit with a
    usage error that names the option if a value is invalid, or if an --option has no effect.

    Parameters
    ----------
    bases : sequence of str
        Values of --base, such as "ucrl2" or "ucrl2:scale=0.1".
    options : sequence of str
        Values of --option.
    **keys
        Other keys of the study.

    Returns
    -------
    Study
        The study.
    """
    from belated.learner.bases import BASE_NAMES
    from belated.sweep.study import Study, StudyError

    with usage_errors("--option"):
        given = parse_base_options(options, bases)
    inline = {text: parse_option("--base", BASE_NAMES.find, text).options for text in given}
    used = {key for text, own in given.items() for key in own if key not in inline[text]}
    sections = []
    for text, own in given.items():
        kept = {key: own[key] for key in own if key not in inline[text] or key not in used}
        sections.append({"name": text, "label": text, **kept})
    try:
        return Study(name="belated", bases=sections, **keys)  # type: ignore[arg-type]
    except StudyError as error:
        key, reason = next(iter(error.reasons.items()))
        option = {"worlds": "world", "bases": "base", "updaters": "updater", "delays": "delay"}
        raise typer.BadParameter(reason, param_hint=f"'--{option.get(key, key)}'") from None


def format_base(base: str, options: BaseOptions) -> str:
    """Return the name `base`, followed by its `options` in parentheses if it has options.

    >>> format_base("ucbvi-bf", {"preset": "two_term", "scale": 0.1}), format_base("ucrl2", {})
    ('ucbvi-bf (preset=two_term, scale=0.1)', 'ucrl2')
    """
    return f"{base} ({', '.join(format_options(options))})" if options else base
