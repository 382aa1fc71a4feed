"""Policies with names of states and actions, and episodes that were opened."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import accumulate
from typing import Final, SupportsIndex

from .wire import Policy, StateRef

MAX_TABLE_ROWS: Final = 40
"""Maximum number of states that the printed table of a policy shows."""
MAX_TABLE_CHARS: Final = 100
"""Maximum width of the printed table of a policy, in characters."""


class NamedPolicy(Policy):
    """Version of a policy, with names of states and actions.

    The method `act` chooses actions without a request to the service. `print(policy)` shows the
    policy as a table.
    """

    def act(self, step: int, state: StateRef, u: float | None = None) -> str:
        """Return the action of the policy at a step in a state.

        Parameters
        ----------
        step : int
            Number of the step, from 0.
        state : StateRef
            Name or index of the state, or a mapping from the name of each factor to its value.
        u : float | None
            Uniform random number in [0, 1) that determines random choices; None to draw a number.

        Returns
        -------
        str
            Name of the action.

        Raises
        ------
        TypeError
            If `step` is not an integer, or if `state` has an invalid type.
        ValueError
            If `step`, `state` or `u` is out of range, or if the state is terminal.
        """
        if isinstance(step, bool) or not isinstance(step, SupportsIndex):
            raise TypeError(
                f"step must be an integer from 0, got {step!r}; the order is act(step, state)."
            )
        if not 0 <= step < self.horizon:
            raise ValueError(f"step must be in 0 .. {self.horizon - 1}, got {step}.")
        name = self._state_name(state)
        action = self.plan[step][name]
        if action is None:
            raise ValueError(f"state must not be terminal, got {name!r}; the episode has ended.")
        u = random.random() if u is None else u
        if not 0 <= u < 1:
            raise ValueError(f"u must be in [0, 1), got {u}.")
        if explored := self.explore[step].get(name):
            return explored[int(u * len(explored))]
        if u < self.epsilon:
            allowed = self.allowed[step] if self.allowed else {}
            choices = allowed.get(name, self.actions)
            return choices[int(u / self.epsilon * len(choices))]
        return action

    def _state_name(self, state: StateRef) -> str:
        names = list(self.plan[0])
        if isinstance(state, Mapping) and self.factors:
            state = self._join_factors(state)
        if isinstance(state, bool) or not isinstance(state, (str, Mapping, SupportsIndex)):
            raise TypeError(f"state must be a name, an index or factors, got {state!r}.")
        if not isinstance(state, (str, Mapping)) and 0 <= (index := int(state)) < len(names):
            return names[index]
        if not isinstance(state, str) or state not in self.plan[0]:
            known = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
            raise ValueError(f"state must be {known}, or 0 .. {len(names) - 1}; got {state!r}.")
        return state

    def _join_factors(self, state: Mapping[str, str | int]) -> str:
        """Return the name of `state`, a mapping from the name of each factor to its value."""
        for name in state:
            if name not in self.factors:
                factors = ", ".join(self.factors)
                raise ValueError(f"state has no factor {name!r}; its factors are {factors}.")
        columns = zip(*(name.split("/") for name in self.plan[0]))
        for factor, values in zip(self.factors, columns):
            listed = ", ".join(dict.fromkeys(values))
            if factor not in state:
                raise ValueError(f"state needs the factor {factor!r}, one of {listed}.")
            if str(state[factor]) not in values:
                raise ValueError(f"{factor} must be one of {listed}, got {state[factor]!r}.")
        return "/".join(str(state[factor]) for factor in self.factors)

    def __str__(self) -> str:
        """Return the policy as a table of actions, with a row for each state.

        Each step has a column; consecutive steps with the same actions share one. If an action is
        drawn at random from several actions, these are joined by "|". The sign "-" marks a terminal
        state. Only the first rows and columns of a large policy are shown.
        """
        states = list(self.plan[0])[:MAX_TABLE_ROWS]
        columns: list[list[str]] = []
        first = 0
        for step in range(self.horizon):
            cells = [self._cell(step, state) for state in states]
            if not columns or columns[-1][1:] != cells:
                first = step
                columns.append(["", *cells])
            columns[-1][0] = f"step {step}" if step == first else f"steps {first}-{step}"
        lines = _format_columns([["state", *states], *columns])
        hidden = len(self.plan[0]) - len(states)
        return "\n".join(
            [
                f"Policy of {self.problem}, version {self.version}",
                *lines,
                *([f"... and {hidden} more states"] if hidden else []),
                *([f"Terminal: {', '.join(self.terminal)}"] if self.terminal else []),
                *(
                    [f"With probability {self.epsilon:g}, a random action instead."]
                    if self.epsilon
                    else []
                ),
            ]
        )

    def _cell(self, step: int, state: str) -> str:
        return "|".join(self.explore[step].get(state) or [self.plan[step][state] or "-"])


def _format_columns(columns: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table with the given `columns`; columns that do not fit are omitted."""
    widths = [max(map(len, column)) for column in columns]
    fitting = sum(end <= MAX_TABLE_CHARS for end in accumulate(width + 2 for width in widths))
    shown = max(2, fitting)
    more = "  ..." if shown < len(columns) else ""
    rows = zip(*columns[:shown])
    pairs = [zip(row, widths) for row in rows]
    return [("  ".join(cell.ljust(width) for cell, width in row) + more).rstrip() for row in pairs]


@dataclass(frozen=True)
class OpenEpisode:
    """Episode that was opened, with the policy to follow in it."""

    id: str
    version: int
    policy: NamedPolicy

    def act(self, step: int, state: StateRef, u: float | None = None) -> str:
        """Return the action of the policy at a step in a state.

        Parameters
        ----------
        step : int
            Number of the step, from 0.
        state : StateRef
            Name or index of the state, or a mapping from the name of each factor to its value.
        u : float | None
            Uniform random number in [0, 1) that determines random choices. If None, it is derived
            from the id of the episode and the step, so that repeated calls, and `Client.decide`
            with this episode, return the same action.

        Returns
        -------
        str
            Name of the action.
        """
        return self.policy.act(step, state, step_uniform(self.id, step) if u is None else u)


def step_uniform(episode: str, step: int) -> float:
    """Return the number in [0, 1) with which the action at a `step` is drawn.

    The number is a hash of `step` and of the id `episode`, so that every call returns the same
    number, and numbers of different steps are as if drawn from the uniform distribution. The
    service uses the same number.

    >>> step_uniform("a", 0) == step_uniform("a", 0) != step_uniform("a", 1)
    True
    """
    bits = sha256(f"{step}/{episode}".encode(errors="surrogatepass")).digest()
    return int.from_bytes(bits[:8], "big") / 2**64 // 2**-53 * 2**-53
