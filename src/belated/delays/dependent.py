"""Delay laws that depend on what is played in the episode: on an action, a state or the return.

Each of these laws consists of ordinary laws, its groups, of which the played episode selects one.
The delays of an episode under all groups are computed from the same uniform random number, so that
the outcome changes the law of the delay, and nothing else.

>>> from belated.episode import Episode
>>> from belated.shape import Shape
>>> law = by_action({0: "constant:5", 1: "geometric:100"})
>>> law
DependentLaw(name='by_action:0=constant:5,1=geometric:100', mean=nan)
>>> shape = Shape(states=2, actions=2, horizon=2)
>>> for first_action in (0, 1):
...     episode = Episode(1, states=[0, 1, 1], actions=[first_action, 0])
...     print(law.draw_for(episode, shape=shape, seed=7))
5
258
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, Self

import numpy as np

from belated.check import check_integer, check_number
from belated.delays.compound import format_entries
from belated.delays.laws import Law, QuantileFunction, check_law, format_number, with_losses
from belated.delays.selector import BY_ACTION, BY_RETURN, BY_STATE, ONE_GROUP, Selector
from belated.episode import Floats
from belated.shape import Shape

ELSE: Final = "else"
"""Key of the law for all actions or states that have no law of their own."""

NAMES: Final = {BY_ACTION: "action", BY_STATE: "state"}


def _no_quantiles(name: str, p: Floats) -> Floats:
    """Raise ValueError; in place of the quantile function of the law called `name`."""
    raise ValueError(
        "quantile, at and draw need a law that does not depend on the played episode, got "
        f"{name!r}; use draw_for with an episode, or one of the laws in groups."
    )


@dataclass(frozen=True)
class DependentLaw(Law):
    """Law whose delays depend on the played episode; see `by_action`.

    It has no mean and no quantiles before episodes are played: `mean` is nan, and `quantile`, `at`
    and `draw` raise ValueError. `draw_for` draws the delay of a played episode. The laws in
    `groups` have means and quantiles.
    """

    mean: float = field(default=math.nan, compare=False)
    quantiles: QuantileFunction = field(init=False, repr=False, compare=False)
    groups: tuple[Law, ...] = field(default=(), repr=False, kw_only=True)
    """Laws from which one is selected for each played episode."""
    kind: int = field(repr=False, kw_only=True)
    """Kind of the rule that selects a law; see `Selector`."""
    step: int = field(default=0, repr=False, kw_only=True)
    """Step, from 0, whose action or state selects the law."""
    keys: tuple[float, ...] = field(default=(), repr=False, kw_only=True)
    """Action, state or smallest return of each group, in increasing order. If there is one key
    less than groups, the last group is that of all other actions or states."""

    dependent = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "quantiles", partial(_no_quantiles, self.name))

    def selector(self, shape: Shape) -> Selector:
        """Return the rule that selects one of `groups` in problems of size `shape`.

        Raises ValueError if an action or state that can occur has no law, or if the law has one for
        an action, a state or a step that does not exist.
        """
        if self.kind == BY_RETURN:
            edges = np.array(self.keys[1:])
            return ONE_GROUP._replace(kind=self.kind, groups=len(self.groups), edges=edges)
        name, steps = NAMES[self.kind], shape.horizon - (self.kind == BY_ACTION)
        if self.step > steps:
            raise ValueError(
                f"step of delay {self.name!r} must lie in 0 .. {steps} in a problem with "
                f"{shape.horizon} steps, got {self.step}."
            )
        count = shape.actions if self.kind == BY_ACTION else shape.states
        if self.keys and self.keys[-1] >= count:
            raise ValueError(
                f"{name}s of delay {self.name!r} must lie in 0 .. {count - 1}, "
                f"got {self.keys[-1]}; remove its law."
            )
        table = np.full(count + (self.kind == BY_ACTION), -1)
        if len(self.keys) < len(self.groups):
            table[:] = len(self.groups) - 1
        table[list(map(int, self.keys))] = np.arange(len(self.keys))
        can_occur = np.ones(table.size, np.bool_)
        if self.kind == BY_ACTION:
            ends_before = self.step > 0 and bool(shape.terminal)
            can_occur = np.append(shape.playable[self.step].any(axis=0), ends_before)
        for missing in np.flatnonzero((table < 0) & can_occur)[:1]:
            what = f"{name} {missing}" if missing < count else "episodes that end before its step"
            key = missing if missing < count else ELSE
            raise ValueError(
                f"delay {self.name!r} must have a law for every {name} that can occur at step "
                f"{self.step}, got none for {what}; add '{key}=DELAY', or '{ELSE}=DELAY' for all "
                "others."
            )
        table = np.maximum(table, 0)
        return Selector(self.kind, len(self.groups), self.step, table, ONE_GROUP.edges)

    def with_groups(self, name: str, change: Callable[[Law], Law]) -> Self:
        """Return the law called `name` in which `change` is applied to each of `groups`."""
        return replace(self, name=name, groups=tuple(change(law) for law in self.groups))

    def _with_losses(self, probability: float, name: str) -> Self:
        return self.with_groups(name, partial(with_losses, probability=probability))


def by_action(laws: Mapping[Any, Law | str], *, step: int = 0) -> Law:
    """Return the law under which the delay depends on the action played at one step.

    Parameters
    ----------
    laws : mapping of int to Law or str
        Law, or its name, for each action, numbered from 0. The key "else" stands for all other
        actions, and for episodes that reach a terminal state before `step`.
    step : int
        Step whose action counts, from 0; by default the first action of the episode.

    Returns
    -------
    Law
        Law with the name "by_action:ACTION=DELAY,...", or "by_action:STEP:ACTION=DELAY,..." for
        another step than the first.

    Examples
    --------
    >>> by_action({0: "constant:5", 1: "never:0.2:geometric:100"}).name
    'by_action:0=constant:5,1=never:0.2:geometric:100'
    """
    return _by_key(BY_ACTION, step, laws)


def by_state(step: int, laws: Mapping[Any, Law | str]) -> Law:
    """Return the law under which the delay depends on the state at one step.

    Parameters
    ----------
    step : int
        Step whose state counts, in 0 .. H. Step 0 has the first state of the episode, and step H
        the state after the last action. If an episode reaches a terminal state before `step`, this
        terminal state counts.
    laws : mapping of int to Law or str
        Law, or its name, for each state, numbered from 0. The key "else" stands for all other
        states.

    Returns
    -------
    Law
        Law with the name "by_state:STEP:STATE=DELAY,...".

    Examples
    --------
    >>> by_state(5, {4: "never:1:constant:0", "else": "geometric:30"}).name
    'by_state:5:4=never:1:constant:0,else=geometric:30'
    """
    return _by_key(BY_STATE, step, laws)


def by_return(edges: Iterable[float], laws: Iterable[Law | str]) -> Law:
    """Return the law under which the delay depends on the return, the sum of the rewards.

    The rewards are those drawn in the episode, in [0, 1] at each step: what the learner sees if
    rewards are unknown to it. They are drawn in the same way if the learner is given the mean
    rewards, and also if only rewards are late.

    Parameters
    ----------
    edges : iterable of float
        Returns at which the law changes, above 0 and increasing.
    laws : iterable of Law or str
        Laws, or their names, one more than `edges`: for returns below the first edge, from the
        first edge to below the second, and so on; the last for returns of at least the last edge.

    Returns
    -------
    Law
        Law with the name "by_return:0=DELAY,EDGE=DELAY,...", with the smallest return of each law.

    Examples
    --------
    Whoever got well, a return of at least 1, does not write again:

    >>> by_return([1], ["geometric:10", "never:0.9:geometric:100"]).name
    'by_return:0=geometric:10,1=never:0.9:geometric:100'
    """
    limits: list[float] = []
    for edge in edges:
        check_number("edges", edge)
        if not (limits[-1] if limits else 0) < edge < math.inf:
            raise ValueError(
                "edges must be finite, above 0 and increasing, "
                f"got {format_number(edge)}{f' after {limits[-1]:g}' if limits else ''}."
            )
        limits.append(float(edge))
    groups = [check_law("laws", law, independent=True) for law in laws]
    if len(groups) != len(limits) + 1:
        raise ValueError(
            f"laws must have {len(limits) + 1} laws for {len(limits)} edges, one more than edges, "
            f"got {len(groups)}."
        )
    keys = (0.0, *limits)
    name = "by_return:" + format_entries(map(format_number, keys), groups)
    return DependentLaw(name, groups=tuple(groups), kind=BY_RETURN, keys=keys)


def _by_key(kind: int, step: int, laws: Mapping[Any, Law | str]) -> Law:
    """Return the law that is selected by an action or a state.

    Parameters
    ----------
    kind : int
        BY_ACTION or BY_STATE.
    step : int
        Step whose action or state counts, from 0.
    laws : mapping
        Law, or its name, for each action or state; "else" for all others.

    Returns
    -------
    Law
    """
    what, step = NAMES[kind], check_integer("step", step, 0)
    if not isinstance(laws, Mapping) or not laws:
        raise ValueError(
            f"laws must have a law for each {what}, such as {{0: 'constant:5', 'else': "
            f"'geometric:100'}}, got {laws!r}."
        )
    numbers = sorted(check_integer(f"{what} of laws", key, 0) for key in laws if key != ELSE)
    keys: Sequence[Any] = [*numbers, *([ELSE] if ELSE in laws else [])]
    groups = tuple(check_law(f"law of {what} {key}", laws[key], independent=True) for key in keys)
    at = f"{step}:" if step or kind == BY_STATE else ""
    name = f"by_{what}:{at}{format_entries(map(str, keys), groups)}"
    return DependentLaw(name, groups=groups, kind=kind, step=step, keys=tuple(numbers))
