"""A study of your own, from a small TOML file.

    name = "my-study"
    episodes = 20000                      # or a table: { chain-10 = 10000, chain-20 = 40000 }
    seeds = 10                            # 0 .. 9, or a list
    worlds = ["chain-10", "chain-20"]
    updaters = ["active", "lazy:10"]
    delays = ["constant:0", "geometric:100"]
    rewards = "unknown"                   # if they are to be learnt too
    late = ["everything", "rewards"]      # what comes late
    delay_per = "step"                    # "episode", or each step with a delay of its own

    [[bases]]
    name = "ucbvi-bf"                     # or your own, "module:Class"
    preset = "two_term"                   # whatever else is here is an option of the base
    scale = 0.03

The three before the bases may be left out. The cells are the cross product, each once. Wrong files
are refused with the file, the key, the value and what is allowed.
"""

import tomllib
from itertools import product
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from belated.sweep.cell import Cell, blocks, plain_delay
from belated.sweep.names import parse_base, parse_updater, parse_world


class BaseEntry(BaseModel):
    """A base and its options; `label` is what ids call it."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str
    label: str = ""

    @property
    def options(self) -> tuple[tuple[str, Any], ...]:
        """What the base is made with."""
        return tuple(sorted((self.model_extra or {}).items()))

    @property
    def shown(self) -> str:
        """The label, or the name and the options."""
        name = self.name.rpartition(":")[2]
        return self.label or "-".join([name, *(str(value) for _, value in self.options)])


class Study(BaseModel):
    """What a study file says, checked."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1)
    episodes: int | dict[str, int]
    seeds: int | list[int]
    worlds: list[str] = Field(min_length=1)
    bases: list[BaseEntry] = Field(min_length=1)
    updaters: list[str] = Field(min_length=1)
    delays: list[str] = Field(min_length=1)
    stages: Literal["each", "pooled"] = "each"
    rewards: Literal["known", "unknown"] = "known"
    late: list[Literal["everything", "rewards"]] = Field(default=["everything"], min_length=1)
    delay_per: list[Literal["episode", "step"]] = Field(default=["episode"], min_length=1)
    checkpoints: int = Field(default=200, ge=1)

    @field_validator("bases", mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        """A bare name is a base without options."""
        if not isinstance(value, list):
            return value
        return [{"name": entry} if isinstance(entry, str) else entry for entry in value]

    @field_validator("late", "delay_per", mode="before")
    @classmethod
    def _alone(cls, value: Any) -> Any:
        """One of them needs no list."""
        return [value] if isinstance(value, str) else value

    @field_validator("late")
    @classmethod
    def _unknown(cls, value: list[str], info: ValidationInfo) -> list[str]:
        if "rewards" in value and info.data.get("rewards") == "known":
            raise ValueError("late rewards are unknown rewards; add rewards = 'unknown'.")
        return value

    @field_validator("worlds")
    @classmethod
    def _worlds(cls, value: list[str]) -> list[str]:
        for text in value:
            parse_world(text)
        return value

    @field_validator("bases")
    @classmethod
    def _bases(cls, value: list[BaseEntry]) -> list[BaseEntry]:
        for entry in value:
            parse_base(entry.name, dict(entry.options))
        labels = [entry.shown for entry in value]
        for label in labels:
            if labels.count(label) > 1:
                raise ValueError(f"two bases would be called {label!r}; give one a label.")
        return value

    @field_validator("updaters")
    @classmethod
    def _updaters(cls, value: list[str]) -> list[str]:
        for text in value:
            parse_updater(text)
        return value

    @field_validator("delays")
    @classmethod
    def _delays(cls, value: list[str]) -> list[str]:
        return [plain_delay(text) for text in value]

    @field_validator("episodes")
    @classmethod
    def _episodes(cls, value: int | dict[str, int]) -> int | dict[str, int]:
        for number in value.values() if isinstance(value, dict) else [value]:
            if number < 1:
                raise ValueError(f"a run has at least 1 episode, not {number}.")
        return value

    @field_validator("seeds")
    @classmethod
    def _seeds(cls, value: int | list[int]) -> int | list[int]:
        if value == [] or (isinstance(value, int) and value < 1):
            raise ValueError("at least one seed is needed.")
        return value

    def cells(self) -> list[Cell]:
        """The cross product, each cell once."""
        seeds = range(self.seeds) if isinstance(self.seeds, int) else self.seeds
        found: dict[str, Cell] = {}
        for world, entry, delay, late, per, updater, block in product(
            *(self.worlds, self.bases, self.delays, self.late, self.delay_per, self.updaters),
            list(blocks(seeds)),
        ):
            cell = Cell(
                world=world,
                base=entry.name,
                delay=delay,
                updater=updater,
                episodes=self.episodes_of(world),
                seeds=block,
                base_options=entry.options,
                stages=self.stages,
                rewards=self.rewards,
                late=late,
                delay_per=per,
                points=self.checkpoints,
                label=entry.shown,
            )
            found.setdefault(cell.id, cell)
        return list(found.values())

    def episodes_of(self, world: str) -> int:
        """K in this world."""
        if isinstance(self.episodes, int):
            return self.episodes
        if world not in self.episodes:
            raise ValueError(f"episodes has no entry for {world!r}.")
        return self.episodes[world]


def read_study(path: Path | str) -> Study:
    """The study in a file, or a ValueError with a sentence for everything that is wrong in it."""
    file = Path(path)
    try:
        facts = tomllib.loads(file.read_text())
    except OSError as error:
        raise ValueError(f"{file} cannot be read: {error.strerror}.") from None
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{file} is not TOML: {error}.") from None
    try:
        return Study(**facts)
    except ValidationError as error:
        sentences = [sentence(problem) for problem in error.errors()]
        raise ValueError("\n".join(f"{file}: {text}" for text in sentences)) from None


def sentence(problem: Any) -> str:
    """What is wrong, with the key and the value."""
    key = ".".join(str(part) for part in problem["loc"])
    allowed = ", ".join(Study.model_fields)
    if problem["type"] == "extra_forbidden":
        return f"key '{key}' is not known; allowed are {allowed}."
    if problem["type"] == "missing":
        return f"key '{key}' is missing."
    reason = problem["msg"].removeprefix("Value error, ").rstrip(".")
    return f"key '{key}' is {problem['input']!r}: {reason}."
