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
from dataclasses import fields
from itertools import product
from pathlib import Path
from typing import Any, Final, Literal

from belated.check import did_you_mean, similar
from belated.extras import missing_extra
from belated.learner.bases import BASE_NAMES
from belated.learner.updaters import UPDATER_NAMES, UPDATERS
from belated.mdp.worlds import world as parse_world
from belated.options import SimulationOptions, name_with_options, option_choices
from belated.sweep.calibrated import CalibratedScales
from belated.sweep.cell import Cell, normalize_delay, seed_blocks
from belated.sweep.packaged import find_study

try:
    from pydantic import (
        BaseModel,
        ConfigDict,
        Field,
        ValidationError,
        ValidationInfo,
        create_model,
        field_validator,
    )
except ImportError:
    raise ImportError(missing_extra("A study", "pydantic", "sweep")) from None


class BaseEntry(BaseModel):
    """Section [[bases]] of a study file: name, label and options of a base."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str
    label: str = ""  # name in ids; if empty, it is formed from the name and the options

    @property
    def options(self) -> tuple[tuple[str, Any], ...]:
        """Names and values of the options of the base, sorted by name."""
        return tuple(sorted((self.model_extra or {}).items()))

    @property
    def id_label(self) -> str:
        """Name of the base in ids: the label or, if empty, the name and the option values."""
        name = self.name.rpartition(":")[2]
        return self.label or "-".join([name, *(str(value) for _, value in self.options)])


OPTION_NAMES = [option.name for option in fields(SimulationOptions)]

OPTION_FIELDS: dict[str, Any] = {
    option.name: (list[option.type], Field(default=[option.default], min_length=1))  # type: ignore[name-defined]
    for option in fields(SimulationOptions)
}
OptionLists: Any = create_model(
    "OptionLists", __config__=ConfigDict(extra="forbid", frozen=True), **OPTION_FIELDS
)
"""Pydantic model with a field for each option of a simulation. Each field is a list of values, and
a study runs all combinations of them."""


class Study(OptionLists):  # type: ignore[misc]
    """Validated content of a study file. The options of a simulation are inherited fields."""

    name: str = Field(min_length=1)
    episodes: int | dict[str, int]
    seeds: int | list[int]
    worlds: list[str] = Field(min_length=1)
    bases: list[BaseEntry] = Field(min_length=1)
    updaters: list[str] = Field(min_length=1)
    delays: list[str] = Field(min_length=1)
    rewards: Literal["known", "unknown"] = Field(default="known", validate_default=True)
    checkpoints: int | None = Field(default=None, ge=1)
    scales: str | None = None  # file of `belated calibrate --table`, for bases without a scale
    omit: dict[str, list[str]] = Field(default={})  # labels of bases left out, by world

    @field_validator("bases", mode="before")
    @classmethod
    def _expand_names(cls, value: Any) -> Any:
        """Convert each base that is given as text to a section with its name and options."""
        if not isinstance(value, list):
            return value
        return [_expand_base(entry) for entry in value]

    @field_validator("updaters", mode="before")
    @classmethod
    def _name_updaters(cls, value: Any) -> Any:
        """Convert each updater that is given as a table to its name with options."""
        return [_updater_text(entry) for entry in value] if isinstance(value, list) else value

    @field_validator(*OPTION_NAMES, mode="before")
    @classmethod
    def _wrap_single(cls, value: Any) -> Any:
        """Convert a single value to a list with this value."""
        return [value] if isinstance(value, str) else value

    @field_validator("rewards")
    @classmethod
    def _check_rewards(cls, value: str, info: ValidationInfo) -> str:
        if value == "known" and "rewards" in info.data.get("late", []):
            raise ValueError("late rewards must be unknown; add rewards = 'unknown'.")
        return value

    @field_validator("worlds")
    @classmethod
    def _check_worlds(cls, value: list[str]) -> list[str]:
        for text in value:
            parse_world(text)
        return value

    @field_validator("bases")
    @classmethod
    def _check_bases(cls, value: list[BaseEntry]) -> list[BaseEntry]:
        for entry in value:
            BASE_NAMES.parse(entry.name, dict(entry.options))
        labels = [entry.id_label for entry in value]
        for label in labels:
            if labels.count(label) > 1:
                raise ValueError(f"two bases have the name {label!r}; give one a label.")
        return value

    @field_validator("updaters")
    @classmethod
    def _check_updaters(cls, value: list[str]) -> list[str]:
        for text in value:
            UPDATER_NAMES.parse(text)
        return value

    @field_validator("delays")
    @classmethod
    def _normalize_delays(cls, value: list[str]) -> list[str]:
        return [normalize_delay(text) for text in value]

    @field_validator("episodes")
    @classmethod
    def _check_episodes(cls, value: int | dict[str, int]) -> int | dict[str, int]:
        for number in value.values() if isinstance(value, dict) else [value]:
            if number < 1:
                raise ValueError(f"a run must have at least 1 episode, got {number}.")
        return value

    @field_validator("scales")
    @classmethod
    def _check_scales(cls, value: str | None) -> str | None:
        if value is not None:
            CalibratedScales(value)
        return value

    @field_validator("omit")
    @classmethod
    def _check_omit(cls, value: dict[str, list[str]], info: ValidationInfo) -> dict[str, list[str]]:
        labels = [entry.id_label for entry in info.data.get("bases", [])]
        for world, omitted in value.items():
            _check_listed("world", world, info.data.get("worlds", []))
            for label in omitted:
                _check_listed("base", label, labels)
        return value

    @field_validator("seeds")
    @classmethod
    def _check_seeds(cls, value: int | list[int]) -> int | list[int]:
        if value == [] or (isinstance(value, int) and value < 1):
            raise ValueError(
                f"seeds must be a number of at least 1, or a list of at least one, got {value}."
            )
        return value

    def cells(self) -> list[Cell]:
        """Return the cells of the study: the cross product of all lists, without duplicates."""
        seeds = range(self.seeds) if isinstance(self.seeds, int) else self.seeds
        cells: dict[str, Cell] = {}
        options = [
            dict(zip(OPTION_NAMES, values, strict=True))
            for values in product(*(getattr(self, name) for name in OPTION_NAMES))
        ]
        blocks = list(seed_blocks(seeds))
        scales = None if self.scales is None else CalibratedScales(self.scales)
        for world, entry, delay, chosen, updater, block in product(
            self.worlds, self.bases, self.delays, options, self.updaters, blocks
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
                seeds=block,
                base_options=entry.options
                if scales is None
                else scales.options(world, entry.name, entry.options, delay),
                rewards=self.rewards,
                points=self.checkpoints,
                label=label,
                **chosen,
            )
            cells.setdefault(cell.id, cell)
        return list(cells.values())

    def episodes_of(self, world: str) -> int:
        """Return the number of episodes K of a run in the world named `world`.

        Raise ValueError if the study has no number for this world.
        """
        if isinstance(self.episodes, int):
            return self.episodes
        if world not in self.episodes:
            raise ValueError(f"episodes must have an entry for every world; {world!r} is missing.")
        return self.episodes[world]


def _check_listed(kind: str, name: str, listed: list[str]) -> None:
    """Raise ValueError if `name`, the name of a `kind` of part, is not `listed` in the study."""
    if name not in listed:
        raise ValueError(f"{kind} {name!r} is not in the study; it has {', '.join(listed)}.")


def _expand_base(entry: Any) -> Any:
    """Return the section of a base, with the options in its name moved to keys of their own.

    `entry` is the name of a base as text, or a section with the key `name`. Any other value is
    returned unchanged.
    """
    section = {"name": entry} if isinstance(entry, str) else entry
    if not (isinstance(section, dict) and isinstance(section.get("name"), str)):
        return section
    named = BASE_NAMES.find(section["name"])
    for option in named.options:
        if option in section:
            raise ValueError(f"option {option!r} of base {named.name!r} is given twice.")
    return {**section, **named.options, "name": named.name}


def _updater_text(entry: Any) -> Any:
    """Return the text that names the updater of a table with the key `name` and its options.

    Any value of `entry` that is not such a table is returned unchanged.
    """
    if not (isinstance(entry, dict) and isinstance(entry.get("name"), str)):
        return entry
    options = {key: value for key, value in entry.items() if key != "name"}
    if entry["name"] not in UPDATERS:
        raise ValueError(
            f"updater {entry['name']!r} must be one of {', '.join(UPDATERS)} in a table; give the "
            "options of others in their name, such as 'module:name:every=5'."
        )
    return name_with_options(UPDATER_NAMES.parse(entry["name"], options))


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
    try:
        return Study(**facts)
    except ValidationError as error:
        # Pydantic reports each type that a value could have; the first detail of a key suffices.
        by_key = {detail["loc"][0]: detail for detail in reversed(error.errors())}
        lines = [f"{file}: {format_error(detail)}" for detail in reversed(by_key.values())]
        raise ValueError("\n".join(lines)) from None


CHOICES: Final = {"rewards": ("known", "unknown"), **option_choices(SimulationOptions)}
"""Map from a key of a study file to its allowed values, for keys with a fixed set of values."""

EXPECTED: Final = {
    "name": "text that is not empty",
    "episodes": "a whole number, or a table with a whole number for each world",
    "seeds": "a whole number, or a list of seeds",
    "worlds": "a list of names",
    "bases": "a list of names, or [[bases]] sections with a name",
    "updaters": "a list of names, or of tables with a name",
    "delays": "a list of names",
    "rewards": "'known' or 'unknown'",
    "checkpoints": "a whole number of at least 1",
    "scales": "the name of a file of `belated calibrate --table`, relative to the study",
    "omit": "a table with a list of names of bases for each world",
    **{name: f"one or a list of {', '.join(map(repr, CHOICES[name]))}" for name in OPTION_NAMES},
}
"""Map from a key of a study file to a description of its valid values, for error messages."""


def format_error(detail: Any) -> str:
    """Return a message that names the key, the expected value and the value at fault.

    `detail` is one item of `pydantic.ValidationError.errors()`.
    """
    key = ".".join(str(part) for part in detail["loc"])
    if detail["type"] == "extra_forbidden":
        own = [name for name in Study.model_fields if name not in OPTION_NAMES]
        near = did_you_mean(similar(key, Study.model_fields))
        return f"key '{key}' is unknown; allowed are {', '.join(own + OPTION_NAMES)}.{near}"
    if detail["type"] == "missing":
        return f"key '{key}' is missing."
    if detail["type"] == "value_error":
        return f"key '{key}': {detail['ctx']['error']}"
    key, value = detail["loc"][0], detail["input"]
    near = did_you_mean(similar(value, CHOICES.get(key, ()))) if isinstance(value, str) else ""
    return f"key '{key}' must be {EXPECTED[key]}, got {value!r}.{near}"
