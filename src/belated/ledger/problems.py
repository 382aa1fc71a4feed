"""Problems: what has been defined."""

import json
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Literal

import numpy as np
import sqlalchemy as sa
from numpy.typing import ArrayLike

from belated.episode import Floats, check_integer
from belated.ledger import schema
from belated.ledger.canonical import canonical
from belated.ledger.validation import check_name, check_text

Late = Literal["everything", "rewards"]


@dataclass(frozen=True)
class Part:
    """A base or an updater: its name and its options, as JSON can hold them.

    An option is a number, a text, true, false, null, or a list of those.
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_text("The name of a part", self.name)
        if not isinstance(self.options, Mapping) or not all(
            isinstance(key, str) for key in self.options
        ):
            raise TypeError(f"options of {self.name} must be a mapping, not {self.options!r}.")
        for key, value in self.options.items():
            if not _is_plain(value):
                # it may lie so deep that Python cannot write it out
                raise ValueError(
                    f"option {key!r} of {self.name} is {reprlib.repr(value)}; it must be a number, "
                    "a text, true, false, null, or a list of those."
                )
        try:
            canonical(dict(self.options))
        except (TypeError, ValueError):
            raise ValueError(
                f"options of {self.name} are {self.options!r}; JSON must be able to hold them."
            ) from None


@dataclass(frozen=True, eq=False)
class Spec:
    """A problem: its states, actions and horizon, what is known, and how it is learned.

    - `rewards`: the known mean rewards, (S, A) or (H, S, A), in [0, 1]; None if they are unknown.
    - `late`: what comes late, "everything" or only "rewards".
    - the rest goes to the learner as it stands, and is its to check.

    >>> spec = Spec(name="clinic", states=("ill", "well"), actions=("wait",), horizon=3,
    ...             rewards=None, base=Part("ucrl2"), updater=Part("lazy"), episodes=1000)
    >>> Spec.of(spec.body) == spec
    True
    """

    name: str
    states: tuple[str, ...]
    actions: tuple[str, ...]
    horizon: int
    rewards: Floats | None
    base: Part
    updater: Part
    episodes: int
    stages: str = "each"
    late: Late = "everything"
    reward_bonus: str = "hoeffding"
    seed: int = 0

    def __init__(
        self,
        *,
        name: str,
        states: tuple[str, ...] | list[str],
        actions: tuple[str, ...] | list[str],
        horizon: int,
        rewards: ArrayLike | None,
        base: Part,
        updater: Part,
        episodes: int,
        stages: str = "each",
        late: Late = "everything",
        reward_bonus: str = "hoeffding",
        seed: int = 0,
    ) -> None:
        for what, part in (("base", base), ("updater", updater)):
            if not isinstance(part, Part):
                raise TypeError(f"{what} is {part!r}; it must be a Part(name, options).")
        if late not in ("everything", "rewards"):
            raise ValueError(f"late is {late!r}; allowed are everything, rewards.")
        if late == "rewards" and rewards is not None:
            raise ValueError("late is 'rewards', but the rewards are known; give rewards=None.")
        given: dict[str, Any] = {
            "name": check_name("name", name),
            "states": _names("states", states),
            "actions": _names("actions", actions),
            "horizon": check_integer("horizon", horizon, 1),
            "base": base,
            "updater": updater,
            "episodes": check_integer("episodes", episodes, 1),
            "stages": check_text("stages", stages),
            "late": late,
            "reward_bonus": check_text("reward_bonus", reward_bonus),
            "seed": check_integer("seed", seed, 0),
        }
        H, S, A = given["horizon"], len(given["states"]), len(given["actions"])
        given["rewards"] = None if rewards is None else _table(rewards, H, S, A)
        for key, value in given.items():
            object.__setattr__(self, key, value)

    @cached_property
    def body(self) -> dict[str, Any]:
        """As JSON holds it."""
        plain: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        for name in ("base", "updater"):
            plain[name] = {"name": plain[name].name, "options": dict(plain[name].options)}
        for name in ("states", "actions"):
            plain[name] = list(plain[name])
        plain["rewards"] = None if self.rewards is None else self.rewards.tolist()
        return plain

    @cached_property
    def state_numbers(self) -> dict[str, int]:
        """The number of each state."""
        return {name: i for i, name in enumerate(self.states)}

    @cached_property
    def action_numbers(self) -> dict[str, int]:
        """The number of each action."""
        return {name: i for i, name in enumerate(self.actions)}

    @cached_property
    def text(self) -> str:
        """In canonical JSON."""
        return canonical(self.body)

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> "Spec":
        """From what JSON holds."""
        if not isinstance(body, Mapping):
            raise TypeError(f"A spec must be an object, not {body!r}.")
        known = [f.name for f in fields(cls)]
        for key in body:
            if key not in known:
                raise ValueError(f"A spec has no {key!r}; it has {', '.join(known)}.")
        for key in known[: known.index("stages")]:
            if key not in body:
                raise ValueError(f"{key} is missing; a spec needs it.")
        parts = {name: _part(name, body[name]) for name in ("base", "updater")}
        return cls(**{**body, **parts})

    def __eq__(self, other: object) -> bool:
        return self.text == other.text if isinstance(other, Spec) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.text)


def _is_plain(value: object) -> bool:
    """Whether an option may hold this."""
    values = value if isinstance(value, list | tuple) else [value]
    return all(one is None or isinstance(one, bool | int | float | str) for one in values)


def _part(what: str, given: object) -> Part:
    if not isinstance(given, Mapping) or not {"name"} <= set(given) <= {"name", "options"}:
        raise TypeError(f"{what} is {given!r}; it must be an object with a name and options.")
    return Part(given["name"], given.get("options", {}))


def _names(what: str, given: object) -> tuple[str, ...]:
    if not isinstance(given, tuple | list) or not given:
        raise TypeError(f"{what} must be a list of at least one name, not {given!r}.")
    names = tuple(check_text(f"{what}[{i}]", name) for i, name in enumerate(given))
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise ValueError(f"{what} has {twice!r} twice; each needs a name of its own.")
    return names


def _table(given: ArrayLike, H: int, S: int, A: int) -> Floats:
    try:
        table = np.array(given, np.float64)
    except (TypeError, ValueError):
        raise TypeError("rewards must be a table of numbers.") from None
    if table.shape not in ((S, A), (H, S, A)):
        raise ValueError(
            f"rewards has shape {table.shape}; it must be {(S, A)}, or {(H, S, A)} by step."
        )
    if not ((table >= 0) & (table <= 1)).all():
        raise ValueError("rewards has a number outside [0, 1].")
    table += 0.0  # no -0.0, which would be the same number in another text
    table.setflags(write=False)
    return table


@dataclass(frozen=True)
class Problem:
    """A problem; its id is the seq of the event that defined it."""

    id: int
    spec: Spec

    @property
    def name(self) -> str:
        """What people call it."""
        return self.spec.name


class Problems:
    """Problems by id, read once each: they never change."""

    def __init__(self) -> None:
        self._known: dict[int, Problem] = {}

    def get(self, connection: sa.Connection, id: int) -> Problem | None:
        """The problem of this id, if there is one."""
        if id not in self._known:
            of = schema.events.c
            text = connection.scalar(sa.select(of.body).where(of.seq == id, of.kind == "defined"))
            if text is None:
                return None
            self._known[id] = Problem(id, Spec.of(json.loads(text)))
        return self._known[id]

    def named(self, connection: sa.Connection, name: str) -> Problem | None:
        """The problem of this name, if there is one."""
        of = schema.problems.c
        id = connection.scalar(sa.select(of.id).where(of.name == name))
        return None if id is None else self.get(connection, id)

    def ids(self, connection: sa.Connection) -> list[int]:
        """The id of every problem, oldest first."""
        of = schema.problems.c
        return list(connection.scalars(sa.select(of.id).order_by(of.id)))
