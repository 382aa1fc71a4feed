"""Problems: the immutable specification of a problem, and a cache of the problems of a ledger."""

import json
import reprlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Final

import numpy as np
import sqlalchemy as sa

from belated.check import check_integer, check_name, check_text
from belated.episode import Floats, Shape
from belated.ledger import schema
from belated.ledger.canonical import canonical, digest
from belated.ledger.store import is_undecodable
from belated.ledger.validation import (
    AllowedNames,
    check_allowed,
    check_names,
    check_range,
    check_rewards,
    check_states,
    check_terminal,
)
from belated.options import Late
from belated.reward_map import Affine

PART_EXAMPLES: Final = {
    "base": '{"name": "ucrl2", "options": {"scale": 0.1}}',
    "updater": '{"name": "lazy", "options": {"alpha": 10}}',
}
"""Map from the name of a field of a definition to an example of its value, in JSON."""


@dataclass(frozen=True)
class Part:
    """Specification of a base or an updater: its name and its options.

    >>> Part("lazy", {"alpha": 10})
    Part(name='lazy', options={'alpha': 10})
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the base or updater: map from the name of each option to its value, which is a
    number, text, bool or None, or a list of such values."""

    def __post_init__(self) -> None:
        check_text("The name of a part", self.name)
        if not isinstance(self.options, Mapping) or not all(
            isinstance(key, str) for key in self.options
        ):
            raise TypeError(f"options of {self.name} must be a mapping, got {self.options!r}.")
        for key, value in self.options.items():
            values = value if isinstance(value, list | tuple) else [value]
            if not all(isinstance(item, bool | int | float | str | None) for item in values):
                # reprlib, since the value may be nested too deep for repr
                raise ValueError(
                    f"option {key!r} of {self.name} must be a number, a text, true, false, null, "
                    f"or a list of those, got {reprlib.repr(value)}."
                )
        try:
            canonical(dict(self.options))
        except (TypeError, ValueError):
            raise ValueError(
                f"options of {self.name} must be valid in JSON, got {self.options!r}."
            ) from None


@dataclass(frozen=True, eq=False, kw_only=True)
class ProblemSpec:
    """Immutable specification of a decision problem and of its learner.

    Values may be given in other forms, such as lists for tuples; they are checked and converted.

    Parameters
    ----------
    name : str
        Unique name of letters, digits, '.', '_' and '-'; it begins with a letter or digit.
    states, actions : sequence of str
        Names of the S states and A actions. States may also be given as a mapping from the name of
        each factor to its values. In this case, the states are all combinations of the values, with
        names from `belated.factored_states.product_states`.
    horizon : int
        Number of steps H of an episode.
    rewards : array_like or None
        Known mean rewards, of shape (S, A) or (H, S, A); None if they are unknown. They lie in
        [0, 1], or in `reward_range`.
    base, updater : Part
        Base and updater of the learner.
    episodes : int
        Expected number of episodes K.
    stages : str
        Whether counts are kept for each step ("each") or pooled over all steps ("pooled").
    reward_bonus : str
        Name of the formula of the bonus for unknown rewards; see `belated.learner.rewards`.
    seed : int
        Seed of the learner. The values of `stages`, `reward_bonus` and `seed` are fully checked
        only when a learner is created.
    late : {"everything", "rewards"}
        Feedback that arrives late: all of it, or only the rewards.
    reward_range : (float, float), optional
        Smallest and largest possible reward; None for [0, 1]. Known rewards, rewards in feedback
        and reported returns are in the units of this range. The learner uses rewards that are
        scaled to [0, 1]. If the problem has terminal states, the range must begin at 0, since an
        episode that has ended receives 0.
    terminal : sequence of str
        States in which an episode ends. Their value is 0, and nothing is learnt there.
    allowed : mapping or sequence of mappings, optional
        Map from the name of a state to the names of the actions that may be played in it; or a list
        of such maps, one for each step. In states that the map does not contain, all actions are
        allowed.
    state_factors : sequence of mappings, optional
        Name and values of each factor of the states: {"name": ..., "values": [...]}. It must be
        omitted if `states` is a mapping, since it is then derived from `states`.

    >>> spec = ProblemSpec(name="clinic", states=("ill", "well"), actions=("wait",), horizon=3,
    ...                    rewards=None, base=Part("ucrl2"), updater=Part("lazy"), episodes=1000)
    >>> ProblemSpec.of(spec.body) == spec
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
    reward_range: tuple[float, float] | None = None
    terminal: tuple[str, ...] | None = None
    allowed: AllowedNames | list[AllowedNames] | None = None
    state_factors: list[dict[str, Any]] | None = None

    def __post_init__(self) -> None:
        for role, part in (("base", self.base), ("updater", self.updater)):
            if not isinstance(part, Part):
                raise TypeError(f"{role} must be a Part(name, options), got {part!r}.")
        if self.late not in ("everything", "rewards"):
            raise ValueError(f"late must be one of everything, rewards, got {self.late!r}.")
        if self.late == "rewards" and self.rewards is not None:
            raise ValueError("late is 'rewards', but the rewards are known; give rewards=None.")
        states, factors = check_states(self.states, self.state_factors)
        self._set(
            states=states,
            state_factors=factors,
            actions=check_names("actions", self.actions),
            terminal=check_terminal(self.terminal, states),
            horizon=check_integer("horizon", self.horizon, 1),
            name=check_name("name", self.name),
            episodes=check_integer("episodes", self.episodes, 1),
            stages=check_text("stages", self.stages),
            reward_bonus=check_text("reward_bonus", self.reward_bonus),
            seed=check_integer("seed", self.seed, 0),
        )
        if self.reward_range is not None:
            self._set(reward_range=check_range(self.reward_range))
        self._set(allowed=check_allowed(self.allowed, states, self.actions, self.horizon))
        if self.terminal and self.reward_range is not None and self.reward_range[0]:
            raise ValueError(
                "reward_range must begin at 0 in a problem with terminal states, since an episode "
                f"that has ended receives 0; got {list(self.reward_range)}."
            )
        if self.rewards is not None:
            self._set(rewards=check_rewards(self.rewards, self.shape, self.reward_range))
            if self.rewards[..., self.shape.is_terminal, :].any():
                raise ValueError(
                    "rewards must be 0 in terminal states, since an episode that has ended "
                    "receives nothing; a reward for reaching such a state belongs to the step "
                    "before."
                )

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @cached_property
    def shape(self) -> Shape:
        """Sizes (S, A, H) of the problem, its terminal states and its allowed actions."""
        S, A, H = len(self.states), len(self.actions), self.horizon
        mask = None
        if self.allowed is not None:
            by_step = self.allowed if isinstance(self.allowed, list) else [self.allowed] * H
            mask = np.ones((H, S, A), np.bool_)
            for step, by_state in enumerate(by_step):
                for state, names in by_state.items():
                    row = mask[step, self.state_numbers[state]]
                    row[:] = False
                    row[[self.action_numbers[name] for name in names]] = True
        terminal = [self.state_numbers[name] for name in self.terminal or ()]
        return Shape(S, A, H, terminal=terminal, allowed=mask)

    @cached_property
    def factors(self) -> dict[str, list[str]] | None:
        """Map from the name of each factor of the states to its values; None without factors."""
        if self.state_factors is None:
            return None
        return {factor["name"]: factor["values"] for factor in self.state_factors}

    @cached_property
    def body(self) -> dict[str, Any]:
        """Specification as a dict of values that JSON can represent."""
        plain: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        for name in ("base", "updater"):
            plain[name] = {"name": plain[name].name, "options": dict(plain[name].options)}
        for name in ("states", "actions"):
            plain[name] = list(plain[name])
        plain["rewards"] = None if self.rewards is None else self.rewards.tolist()
        for name in ("reward_range", "terminal"):
            plain[name] = None if plain[name] is None else list(plain[name])
        # optional fields are omitted, so that a specification without them keeps its text
        return {name: plain[name] for name in plain if plain[name] is not None or name == "rewards"}

    @cached_property
    def reward_map(self) -> Affine:
        """Map between the learner's rewards in [0, 1] and rewards in the units of the problem."""
        low, high = self.reward_range or (0.0, 1.0)
        return Affine(high - low, low)

    @cached_property
    def state_numbers(self) -> dict[str, int]:
        """Map from the name of each state to its index."""
        return {name: i for i, name in enumerate(self.states)}

    @cached_property
    def action_numbers(self) -> dict[str, int]:
        """Map from the name of each action to its index."""
        return {name: i for i, name in enumerate(self.actions)}

    @cached_property
    def text(self) -> str:
        """Specification as canonical JSON text."""
        return canonical(self.body)

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> "ProblemSpec":
        """Return the specification with the fields in `body`, a mapping like the property `body`.

        Raises ValueError or TypeError if a field is missing, unknown or invalid.
        """
        if not isinstance(body, Mapping):
            raise TypeError(f"A spec must be an object, got {body!r}.")
        known = [f.name for f in fields(cls)]
        for key in body:
            if key not in known:
                raise ValueError(
                    f"A spec must have only the fields {', '.join(known)}, got {key!r}."
                )
        for key in known[: known.index("stages")]:
            if key not in body:
                raise ValueError(f"{key} is missing; a spec needs it.")
        parts = {role: _parse_part(role, body[role]) for role in ("base", "updater")}
        return cls(**{**body, **parts})

    def __eq__(self, other: object) -> bool:
        return self.text == other.text if isinstance(other, ProblemSpec) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.text)


def _parse_part(role: str, given: object) -> Part:
    if not isinstance(given, Mapping) or not {"name"} <= set(given) <= {"name", "options"}:
        raise TypeError(
            f"{role} must be an object such as {PART_EXAMPLES[role]}, got {reprlib.repr(given)}."
        )
    return Part(given["name"], given.get("options", {}))


@dataclass(frozen=True)
class Problem:
    """Problem as defined in a ledger."""

    id: int
    """Sequence number of the event that defined the problem."""
    spec: ProblemSpec

    @property
    def name(self) -> str:
        """Name of the problem, unique in its ledger."""
        return self.spec.name


class ProblemCache:
    """Cache of the problems of a ledger. A problem is read only once, since it never changes."""

    def __init__(self) -> None:
        self._known: dict[int, Problem] = {}
        self.damaged: dict[int, str] = {}
        """Map from the id of each problem whose definition was found damaged to a message."""

    def get(self, connection: sa.Connection, id: int) -> Problem | None:
        """Return the problem with the id `id`; None if there is no such problem.

        A problem that is not cached is read from the database over `connection`. Raises ValueError
        if the definition of the problem is damaged.
        """
        if id not in self._known:
            events = schema.events.c
            query = sa.select(events.body, events.sha)
            query = query.where(events.seq == id, events.kind == "defined")
            try:
                row = connection.execute(query).first()
                if row is None:
                    return None
                if digest(row.body) != row.sha:
                    raise ValueError("digest mismatch")
                self._known[id] = Problem(id, ProblemSpec.of(json.loads(row.body)))
            except (ValueError, TypeError, AttributeError, sa.exc.OperationalError) as error:
                if isinstance(error, sa.exc.OperationalError) and not is_undecodable(error):
                    raise
                undecodable = isinstance(error, sa.exc.OperationalError)
                reason = "a text is not valid UTF-8" if undecodable else str(error).rstrip(".")
                self.damaged[id] = f"Event {id}, which defines a problem, is damaged: {reason}."
                raise ValueError(self.damaged[id]) from None
        return self._known[id]

    def find(self, connection: sa.Connection, name: str) -> Problem | None:
        """Return the problem with the name `name`; None if there is no such problem.

        The database is read over `connection`. Raises ValueError if the definition of the problem
        is damaged.
        """
        problems = schema.problems.c
        id = connection.scalar(sa.select(problems.id).where(problems.name == name))
        return None if id is None else self.get(connection, id)

    def all(self, connection: sa.Connection) -> list[Problem]:
        """Return all problems, oldest first. The database is read over `connection`.

        Problems with a damaged definition are omitted; see `damaged`.
        """
        ids = connection.scalars(sa.select(schema.problems.c.id).order_by(schema.problems.c.id))
        found = []
        for id in ids.all():
            with suppress(ValueError):
                found.append(self.get(connection, id))
        return [problem for problem in found if problem is not None]
