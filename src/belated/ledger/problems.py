"""Problems: the specification of a problem, its validation, and a cache of problems."""

import math
import reprlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import islice
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from belated.check import check_integer, check_name, check_text
from belated.episode import Floats, Shape
from belated.factored_states import States
from belated.ledger.schema import canonical
from belated.options import Late
from belated.reward_map import Affine

AllowedNames: TypeAlias = dict[str, list[str]]
"""Map from the name of a state to the names of the actions that are allowed in it."""


def check_range(value: Any) -> tuple[float, float]:
    """Return the range of rewards `value` as a pair of floats (low, high).

    Raises ValueError unless `value` is a list of two finite numbers, low < high.
    """
    is_pair = isinstance(value, Sequence) and len(value) == 2
    if is_pair and all(type(end) in (int, float) for end in value):
        low, high = (float(end) + 0.0 for end in value)
        if low < high and math.isfinite(high - low):
            return low, high
    raise ValueError(
        f"reward_range must be [low, high] with finite numbers and low < high, got {value!r}."
    )


def describe_range(reward_range: tuple[float, float] | None) -> str:
    """Return the part of an error message which says where rewards must lie.

    `reward_range` is the range of the rewards of the problem; None for [0, 1].

    >>> describe_range((-5.0, 20.0))
    'must lie in [-5, 20], the reward_range of the problem'
    """
    if reward_range is None:
        return "must lie in [0, 1] unless the problem is defined with a reward_range [low, high]"
    low, high = reward_range
    return f"must lie in [{low:g}, {high:g}], the reward_range of the problem"


def check_names(name: str, value: object) -> tuple[str, ...]:
    """Return `value` as a tuple if it is a list of one or more names that are all different.

    A name is a text that `check_text` accepts. Raises TypeError or ValueError if `value` is not
    such a list; the message refers to the value as `name`.
    """
    if not isinstance(value, tuple | list) or not value:
        raise TypeError(f"{name} must be a list of at least one name, got {value!r}.")
    names: dict[str, None] = {}
    for i, item in enumerate(value):
        if check_text(f"{name}[{i}]", item) in names:
            raise ValueError(f"{name} must be different names, got {item!r} twice.")
        names[item] = None
    return tuple(names)


def check_states(
    states: object, state_factors: object
) -> tuple[tuple[str, ...], list[dict[str, Any]] | None]:
    """Validate the states of a problem and their factors.

    A factor is a property of a state. If a problem has factors, its states are all combinations of
    their values.

    Parameters
    ----------
    states : object
        List of the names of the states, or a mapping from the name of each factor to its values.
    state_factors : object
        List of factors, each a mapping {"name": ..., "values": [...]}. None if the problem has no
        factors, or if `states` is a mapping.

    Returns
    -------
    tuple
        Names of all states; and the list of factors in the form of `state_factors`, or None if the
        problem has no factors.

    Raises
    ------
    TypeError or ValueError
        If an argument is malformed, or if both are given and `states` does not list the names of
        all combinations of the factors.
    """
    if isinstance(states, Mapping):
        if state_factors is not None:
            raise ValueError("state_factors must be omitted if states is a mapping of factors.")
        factors: Mapping[str, Sequence[str]] = states
    elif state_factors is None:
        return check_names("states", states), None
    else:
        if not isinstance(state_factors, list | tuple) or not all(
            isinstance(factor, Mapping) and set(factor) == {"name", "values"}
            for factor in state_factors
        ):
            raise TypeError("state_factors must be a list of objects with a name and values.")
        factors = {factor["name"]: factor["values"] for factor in state_factors}
    for name, values in factors.items():
        check_text("The name of a factor", name)
        if not isinstance(values, list | tuple):
            raise TypeError(f"values of {name} must be a list, got {values!r}.")
    if not isinstance(states, Mapping):
        listed_states = check_names("states", states)
        # first by number, since all combinations of the factors may not fit into memory
        combinations = math.prod(len(values) for values in factors.values())
        if combinations != len(listed_states) or States(factors).names != listed_states:
            raise ValueError("states must be the names of all combinations of state_factors.")
    product = States(factors)
    listed = [{"name": name, "values": list(each)} for name, each in product.factors.items()]
    return check_names("states", product.names), listed


def check_terminal(value: object, states: Sequence[str]) -> tuple[str, ...] | None:
    """Return the terminal states in the order of `states`; None if `value` is None or empty.

    Raises TypeError or ValueError unless `value` is a list of some of the `states`, but not of all.
    """
    if value is None or value == [] or value == ():
        return None
    names = dict.fromkeys(check_names("terminal", value))
    known = dict.fromkeys(states)
    for i, name in enumerate(names):
        _check_known(f"terminal[{i}]", name, known)
    if len(names) == len(known):
        raise ValueError("terminal must not contain all states; episodes start in another one.")
    return tuple(name for name in states if name in names)


def check_allowed(
    value: object, states: Sequence[str], actions: Sequence[str], horizon: int
) -> AllowedNames | list[AllowedNames] | None:
    """Return the allowed actions of a problem, with lists of actions in the order of `actions`.

    Parameters
    ----------
    value : object
        Mapping from names of states to lists of names of actions, or one such mapping for each
        step; None if all actions are allowed.
    states, actions : sequence of str
        Names of the states and actions.
    horizon : int
        Number of steps.

    Returns
    -------
    dict, list of dict, or None
        The allowed actions, in the same form as `value`; None if all actions are allowed.

    Raises
    ------
    TypeError or ValueError
        If `value` is malformed, or if a state would be left without an action.
    """
    known = dict.fromkeys(states), dict.fromkeys(actions)
    if isinstance(value, list | tuple):
        if len(value) != horizon:
            raise ValueError(
                f"allowed must be an object, or a list of {horizon}, one object for each step, "
                f"got a list of {len(value)}."
            )
        steps = [_check_allowed(f"allowed[{h}]", each, *known) for h, each in enumerate(value)]
        return steps if any(steps) else None
    return (None if value is None else _check_allowed("allowed", value, *known)) or None


def _check_allowed(
    field: str, value: object, states: Mapping[str, None], actions: Mapping[str, None]
) -> AllowedNames:
    if not isinstance(value, Mapping):
        raise TypeError(f"{field} must be an object of lists of actions by state, got {value!r}.")
    found = {}
    for state, given in value.items():
        _check_known(f"A state in {field}", state, states)
        where = f"{field}[{state!r}]"
        if not isinstance(given, list | tuple) or not given:
            raise ValueError(
                f"{where} must be a list of at least one action, got {given!r}; a state in which "
                "episodes end belongs to terminal."
            )
        for i, action in enumerate(given):
            _check_known(f"{where}[{i}]", action, actions)
        allowed = set(given)
        found[state] = [action for action in actions if action in allowed]
    return found


def _check_known(field: str, value: object, names: Mapping[str, None]) -> None:
    if not isinstance(value, str) or value not in names:
        raise ValueError(f"{field} must be one of {list_names(names)}, got {value!r}.")


def list_names(names: Collection[str]) -> str:
    """Return at most the first ten of `names`, joined by commas; "..." follows if there are more.

    >>> list_names(["ill", "well"])
    'ill, well'
    """
    return ", ".join([*islice(names, 10)]) + (", ..." if len(names) > 10 else "")


def check_rewards(
    value: ArrayLike, shape: Shape, reward_range: tuple[float, float] | None
) -> Floats:
    """Return known mean rewards as a read-only array of shape (S, A) or (H, S, A).

    `shape` is the shape of the problem: H steps, S states and A actions. `reward_range` is the
    range of its rewards; None for [0, 1]. Raises TypeError or ValueError if `value` is not a table
    of this shape, or if a reward is out of range.
    """
    H, S, A = shape.table
    try:
        kinds = set(map(type, np.array(value, np.object_).flat))
        if bool in kinds or not all(issubclass(kind, Real) for kind in kinds):
            raise TypeError
        table = np.array(value, np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"rewards must be a rectangular table of numbers, got {reprlib.repr(value)}."
        ) from None
    if table.shape not in ((S, A), (H, S, A)):
        raise ValueError(
            f"rewards must have shape {(S, A)}, or {(H, S, A)} by step, got {table.shape}."
        )
    low, high = reward_range or (0, 1)
    outside = table[~((table >= low) & (table <= high))]
    if outside.size:
        raise ValueError(f"rewards {describe_range(reward_range)}, got {outside[0]:g}.")
    table += 0.0  # turns -0.0 into 0.0, so that equal numbers have equal text
    table.setflags(write=False)
    return table


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
            if not all(isinstance(item, bool | int | float | str | None) for item in values) or (
                not all(math.isfinite(item) for item in values if isinstance(item, float))
            ):
                # reprlib, since the value may be nested too deep for repr
                raise ValueError(
                    f"option {key!r} of {self.name} must be a finite number, a text, true, false, "
                    f"null, or a list of those, got {reprlib.repr(value)}."
                )


@dataclass(frozen=True, eq=False, kw_only=True)
class ProblemSpec:
    """Immutable specification of a decision problem and of its learner.

    Parameters
    ----------
    name : str
        Unique name of letters, digits, '.', '_' and '-'; it begins with a letter or digit.
    states, actions : sequence of str
        Names of the S states and A actions. States may also be given as a mapping from the name of
        each factor to its values. In this case, the states are all combinations of the values, with
        names of `belated.factored_states.States`.
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
        for role in ("base", "updater"):
            if not isinstance(getattr(self, role), Part):
                given = getattr(self, role)
                raise TypeError(f"{role} must be a Part(name, options), got {given!r}.")
        if self.late not in ("everything", "rewards"):
            raise ValueError(f"late must be one of everything, rewards, got {self.late!r}.")
        if self.late == "rewards" and self.rewards is not None:
            raise ValueError("late is 'rewards', but the rewards are known; give rewards=None.")
        states, factors = check_states(self.states, self.state_factors)
        actions, horizon = check_names("actions", self.actions), self.horizon
        self._set(
            states=states,
            state_factors=factors,
            actions=actions,
            terminal=check_terminal(self.terminal, states),
            horizon=check_integer("horizon", horizon, 1),
            name=check_name("name", self.name),
            episodes=check_integer("episodes", self.episodes, 1),
            stages=check_text("stages", self.stages),
            reward_bonus=check_text("reward_bonus", self.reward_bonus),
            seed=check_integer("seed", self.seed, 0),
            reward_range=None if self.reward_range is None else check_range(self.reward_range),
            allowed=check_allowed(self.allowed, states, actions, horizon),
        )
        low = 0.0 if self.reward_range is None else self.reward_range[0]
        if self.terminal and low:
            raise ValueError(
                "reward_range must begin at 0 in a problem with terminal states, since an episode "
                f"that has ended receives 0; got {list(self.reward_range or ())}."
            )
        if self.rewards is None:
            return
        self._set(rewards=check_rewards(self.rewards, self.shape, self.reward_range))
        if self.rewards[..., self.shape.is_terminal, :].any():
            raise ValueError(
                "rewards must be 0 in terminal states, since an episode that has ended receives "
                "nothing; a reward for reaching such a state belongs to the step before."
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
            f'{role} must be an object such as {{"name": "ucrl2", "options": {{"scale": 0.1}}}}, '
            f"got {reprlib.repr(given)}."
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
