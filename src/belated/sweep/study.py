"""Studies: TOML files that describe a sweep.

    name = "my-study"
    episodes = 20000                      # or a table: { chain-10 = 10000, chain-20 = 40000 }
    seeds = 10                            # 0 .. 9, or a list
    worlds = ["chain-10", "chain-20"]
    updaters = ["active", "lazy:10"]
    delays = ["constant:0", "geometric:100"]
    rewards = "unknown"                   # the learner estimates the rewards
    late = ["everything", "rewards"]      # delayed: all feedback, or only rewards
    delay_per = "step"                    # each step has its own delay; or "episode"

    [[bases]]
    name = "ucbvi-bf"                     # or "module:name" for your own
    preset = "two_term"                   # all other keys are options of the base
    scale = 0.03

The keys `rewards`, `checkpoints`, `scales` and `omit` and the options of a simulation
(`SimulationOptions`) are optional. The cells of a study are the cross product of all lists, without
duplicates and without the bases that `omit` lists for a world. Error messages name the file, the
key, the value and the allowed values.
"""

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Final, Literal

from belated.check import did_you_mean, similar
from belated.learner.bases import BASE_NAMES
from belated.learner.updaters import UPDATER_NAMES, UPDATERS
from belated.mdp.worlds import world as parse_world
from belated.options import CHOICES, SimulationOptions, name_with_options, option_choices
from belated.simulation.calibration_table import CalibratedScales
from belated.simulation.simulation import Options, normalize_delay
from belated.sweep.cell import Cell, seed_blocks
from belated.sweep.packaged import find_study

OPTIONS: Final = option_choices(SimulationOptions)
"""Map from the name of each option of a simulation to its values. A study runs all combinations of
the values that it lists for them."""


class StudyError(ValueError):
    """Error of one or several keys of a study.

    Parameters
    ----------
    reasons : mapping of str to str
        Map from each key at fault to a sentence about its value.
    """

    def __init__(self, reasons: Mapping[str, str]) -> None:
        lines = [
            f"key '{key}' {text}" if text.startswith("must be ") else f"key '{key}': {text}"
            for key, text in reasons.items()
        ]
        super().__init__("\n".join(lines))
        self.reasons = reasons


@dataclass(frozen=True)
class BaseEntry:
    """Base of a study: its name, its options and its name in ids."""

    name: str
    label: str = ""  # name in ids; if empty, it is formed from the name and the options
    options: Options = ()  # sorted by name

    @classmethod
    def parse(cls, value: Any) -> "BaseEntry":
        """Return the base that is given as text, or as a section with the key `name`.

        Raise TypeError if `value` is neither, and ValueError if the base is invalid.
        """
        if isinstance(value, BaseEntry):
            return value
        section = {"name": value} if isinstance(value, str) else value
        if not isinstance(section, Mapping) or not isinstance(section.get("name"), str):
            raise TypeError
        named = BASE_NAMES.find(section["name"])
        options = {key: one for key, one in section.items() if key not in ("name", "label")}
        BASE_NAMES.build(named, options)
        options |= named.options
        return cls(named.name, section.get("label", ""), tuple(sorted(options.items())))

    @property
    def id_label(self) -> str:
        """Name of the base in ids: the label or, if empty, the name and the option values."""
        name = self.name.rpartition(":")[2]
        return self.label or "-".join([name, *(str(value) for _, value in self.options)])


@dataclass(frozen=True, kw_only=True)
class Study:
    """Content of a study file, which is checked: the lists whose product are its settings.

    Lists may be given as any sequence, and a list of one option as this option. Raises StudyError
    if a value is invalid.
    """

    name: str
    episodes: int | Mapping[str, int]
    seeds: int | list[int]
    worlds: list[str]
    bases: list[BaseEntry]
    updaters: list[str]
    delays: list[str]
    rewards: Literal["known", "unknown"] = "known"
    checkpoints: int | None = None
    scales: str | None = None  # file of `belated calibrate --table`, for bases without a scale
    omit: Mapping[str, list[str]] = field(default_factory=dict)  # labels of bases left out
    stages: list[str] = field(default_factory=lambda: ["each"])
    late: list[str] = field(default_factory=lambda: ["everything"])
    reward_bonus: list[str] = field(default_factory=lambda: ["hoeffding"])
    planning: list[str] = field(default_factory=lambda: ["auto"])
    delay_per: list[str] = field(default_factory=lambda: ["episode"])

    def __post_init__(self) -> None:
        reasons = {}
        for key, (expected, parse) in KEYS.items():
            value = getattr(self, key)
            if value is None and key in OPTIONAL_KEYS:
                continue
            try:
                object.__setattr__(self, key, parse(value))
            except TypeError:
                choices = CHOICES.get(key, ()) if isinstance(value, str) else ()
                near = did_you_mean(similar(value, choices)) if choices else ""
                reasons[key] = f"must be {expected}, got {value!r}.{near}"
            except ValueError as error:
                reasons[key] = str(error)
        for key, reason in self._conflicts() if not reasons else ():
            reasons.setdefault(key, reason)
        if reasons:
            raise StudyError(reasons)

    def _conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield a key and a sentence for each value that contradicts another one."""
        if self.rewards == "known" and "rewards" in self.late:
            yield "rewards", "late rewards must be unknown; add rewards = 'unknown'."
        labels = [entry.id_label for entry in self.bases]
        for label in labels:
            if labels.count(label) > 1:
                yield "bases", f"two bases have the name {label!r}; give one a label."
        named = [("world", world, self.worlds) for world in self.omit]
        named += [("base", label, labels) for omitted in self.omit.values() for label in omitted]
        for kind, name, listed in named:
            if name not in listed:
                known = ", ".join(listed)
                yield "omit", f"{kind} {name!r} is not in the study; it has {known}."

    def settings(self) -> list[Cell]:
        """Return the settings of the study, each as one cell with all seeds.

        They are the cross product of all lists, without duplicates.
        """
        settings: dict[str, Cell] = {}
        seeds = range(self.seeds) if isinstance(self.seeds, int) else sorted(set(self.seeds))
        options = [
            dict(zip(OPTIONS, values, strict=True))
            for values in product(*(getattr(self, name) for name in OPTIONS))
        ]
        scales = None if self.scales is None else CalibratedScales(self.scales)
        for world, entry, delay, chosen, updater in product(
            self.worlds, self.bases, self.delays, options, self.updaters
        ):
            label = entry.id_label
            if label in self.omit.get(world, []):
                continue
            if len(set(self.stages)) > 1 and chosen["stages"] == "pooled":
                label += "-pooled"  # ids do not contain `stages`
            cell = Cell(
                world=world,
                base=entry.name,
                delay=delay,
                updater=updater,
                episodes=self.episodes_of(world),
                seeds=tuple(seeds),
                base_options=entry.options
                if scales is None
                else scales.options(world, entry.name, entry.options, delay),
                rewards=self.rewards,
                points=self.checkpoints,
                label=label,
                **chosen,
            )
            settings.setdefault(cell.setting, cell)
        return list(settings.values())

    def cells(self) -> list[Cell]:
        """Return the cells of the study: each setting with its seeds in blocks."""
        return [
            replace(setting, seeds=block)
            for setting in self.settings()
            for block in seed_blocks(setting.seeds)
        ]

    def episodes_of(self, world: str) -> int:
        """Return the number of episodes K of a run in the world named `world`.

        Raise ValueError if the study has no number for this world.
        """
        if isinstance(self.episodes, int):
            return self.episodes
        if world not in self.episodes:
            raise ValueError(f"episodes must have an entry for every world; {world!r} is missing.")
        return self.episodes[world]


def require(valid: bool) -> None:
    """Raise TypeError unless the form of a value is `valid`."""
    if not valid:
        raise TypeError


def parse_list(parse: Callable[[Any], Any], value: Any) -> list[Any]:
    """Return the parsed items of a list, which must not be empty."""
    require(isinstance(value, Sequence) and not isinstance(value, str) and len(value) > 0)
    return [parse(item) for item in value]


def parse_text(value: Any) -> str:
    """Return `value`, which must be text and not empty."""
    require(isinstance(value, str) and value != "")
    return str(value)


def parse_checked(check: Callable[[str], object], value: Any) -> str:
    """Return the text `value`, for which `check` must not raise ValueError."""
    check(parse_text(value))
    return str(value)


def parse_number(value: Any, minimum: int = 1) -> int:
    """Return `value`, which must be a whole number of at least `minimum`."""
    require(isinstance(value, int) and not isinstance(value, bool) and value >= minimum)
    return int(value)


def parse_episodes(value: Any) -> int | dict[str, int]:
    """Return a number of episodes, or a number for each world."""
    if isinstance(value, Mapping):
        return {world: parse_number(number) for world, number in value.items()}
    return parse_number(value)


def parse_seeds(value: Any) -> int | list[int]:
    """Return a number of seeds, or a list of seeds."""
    if isinstance(value, int):
        return parse_number(value)
    return parse_list(partial(parse_number, minimum=0), value)


def parse_updater(value: Any) -> str:
    """Return the name of an updater, given as text or as a table with `name` and options."""
    if not isinstance(value, Mapping):
        return parse_checked(UPDATER_NAMES.parse, value)
    options = {**value}
    name = parse_text(options.pop("name", None))
    if name not in UPDATERS:
        raise ValueError(
            f"updater {name!r} must be one of {', '.join(UPDATERS)} in a table; give the options "
            "of others in their name, such as 'module:name:every=5'."
        )
    return name_with_options(UPDATER_NAMES.parse(name, options))


def parse_choice(key: str, value: Any) -> Any:
    """Return `value`, which must be an allowed value of `key`."""
    require(value in CHOICES[key])
    return value


def parse_choices(key: str, value: Any) -> list[Any]:
    """Return one or several values of `key` as a list."""
    return parse_list(partial(parse_choice, key), [value] if isinstance(value, str) else value)


def parse_omit(value: Any) -> dict[str, list[str]]:
    """Return the labels of the bases that are left out, by world."""
    require(isinstance(value, Mapping))
    return {world: parse_list(parse_text, labels) for world, labels in value.items()}


KEYS: Final[dict[str, tuple[str, Callable[[Any], Any]]]] = {
    "name": ("text that is not empty", parse_text),
    "episodes": (
        "a whole number of at least 1, or a table with such a number for each world",
        parse_episodes,
    ),
    "seeds": ("a whole number of at least 1, or a list of seeds", parse_seeds),
    "worlds": ("a list of names", partial(parse_list, partial(parse_checked, parse_world))),
    "bases": (
        "a list of names, or [[bases]] sections with a name",
        partial(parse_list, BaseEntry.parse),
    ),
    "updaters": ("a list of names, or of tables with a name", partial(parse_list, parse_updater)),
    "delays": (
        "a list of names",
        partial(parse_list, lambda name: normalize_delay(parse_text(name))),
    ),
    "rewards": ("'known' or 'unknown'", partial(parse_choice, "rewards")),
    "checkpoints": ("a whole number of at least 1", parse_number),
    "scales": (
        "the name of a file of `belated calibrate --table`, relative to the study",
        partial(parse_checked, CalibratedScales),
    ),
    "omit": ("a table with a list of names of bases for each world", parse_omit),
    **{
        name: (f"one or a list of {', '.join(map(repr, choices))}", partial(parse_choices, name))
        for name, choices in OPTIONS.items()
    },
}
"""Map from each key of a study to a description of its valid values, for error messages, and to the
function that checks a value and returns it in the form of the attribute. The function raises
TypeError if the value is not as described, and ValueError with a sentence if it is invalid
otherwise."""

OPTIONAL_KEYS: Final = ("checkpoints", "scales")
"""Keys whose value may be None."""


def read_study(path: Path | str) -> Study:
    """Return the study described by the file `path`, or the packaged study of this name.

    Raise ValueError if there is no such study, or if the file is invalid. The message has one line
    for each error.
    """
    file = find_study(path)
    try:
        facts = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{file} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} is not UTF-8 ({error.reason} at byte {error.start}).") from None
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{file} is not TOML: {error}.") from None
    if isinstance(facts.get("scales"), str):
        facts["scales"] = str(file.parent / facts["scales"])
    required = [one.name for one in fields(Study) if one.default is MISSING is one.default_factory]
    reasons = [f"key '{key}' is missing." for key in required if key not in facts]
    for key in facts.keys() - KEYS.keys():
        near = did_you_mean(similar(key, KEYS))
        reasons.append(f"key '{key}' is unknown; allowed are {', '.join(KEYS)}.{near}")
    if not reasons:
        try:
            return Study(**facts)
        except StudyError as error:
            reasons = str(error).splitlines()
    raise ValueError("\n".join(f"{file}: {reason}" for reason in reasons))
