"""The world: a tabular episodic MDP that stores possible successors only.

A row is one (stage, state, action): row = (stage * S + state) * A + action. Its successors are
`succ[ptr[row]:ptr[row + 1]]`, in the order of their index. A world whose transitions are the
same at every step stores one stage of rows, and one whose rewards are stores one stage of them.

>>> world = MDP.sparse(Shape(2, 1, 3), [(0, 0, 1, 1.0), (1, 0, 0, 0.5), (1, 0, 1, 0.5)], [[0], [1]])
>>> world
MDP(states=2, actions=1, horizon=3, homogeneous, 3 successors)
>>> world.successors(2, 1, 0)
(array([0, 1], dtype=int32), array([0.5, 0.5]))
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from belated.compiled import inlined, kernel
from belated.episode import Floats, Ints, Shape, check_integer
from belated.mdp.rewards import Affine

Draws = Literal["deterministic", "bernoulli", "beta"]
DRAWS: Final[tuple[Draws, ...]] = ("deterministic", "bernoulli", "beta")

TOLERANCE = 1e-9
"""How far from one the probabilities of a row may sum."""


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class MDP:
    """Transitions, mean rewards in [0, 1] and the law of the first state.

    Made by `MDP.dense` or `MDP.sparse`, which check what they are given. `reward_draws` says
    what a step pays: its mean ("deterministic"), a coin with that mean ("bernoulli"), or a number
    in between ("beta": Beta(m / (1 - m), 1), whose mean is m).
    """

    shape: Shape
    ptr: Ints  # (rows + 1)
    succ: NDArray[np.int32]
    prob: Floats
    cum: Floats  # cumulative within each row; its last entry is exactly 1
    rewards: Floats  # (1, S, A) or (H, S, A), whatever the transitions are
    start: Floats  # (S,)
    start_cum: Floats  # (S,), exactly 1 from the last possible state on
    reward_draws: Draws
    reward_map: Affine = field(default_factory=Affine)
    """How these rewards stand to the ones the world was described with."""

    @classmethod
    def dense(
        cls,
        transitions: ArrayLike,
        rewards: ArrayLike,
        *,
        start: int | ArrayLike = 0,
        horizon: int | None = None,
        reward_draws: Draws = "deterministic",
    ) -> "MDP":
        """From P, (H, S, A, S) or (S, A, S), and R, (H, S, A) or (S, A).

        `horizon` is needed only when neither has a stage axis.
        """
        p = _floats("transitions", transitions)
        r = _floats("rewards", rewards)
        if p.ndim not in (3, 4) or p.shape[-3] != p.shape[-1] or p.size == 0:
            raise ValueError(
                f"transitions has shape {p.shape}; it must be (S, A, S) or (H, S, A, S)."
            )
        stages = {len(x) for x, axes in ((p, 4), (r, 3)) if x.ndim == axes}
        if horizon is not None:
            stages.add(check_integer("horizon", horizon, 1))
        if len(stages) != 1:
            raise ValueError(
                f"transitions {p.shape}, rewards {r.shape} and horizon={horizon} must give "
                f"exactly one number of steps, not {sorted(stages) or 'none'}."
            )
        shape = Shape(p.shape[-1], p.shape[-2], stages.pop())
        flat = np.flatnonzero(p)
        return cls._build(shape, p.ndim == 3, flat, p.reshape(-1)[flat], r, start, reward_draws)

    @classmethod
    def sparse(
        cls,
        shape: Shape,
        entries: Iterable[Sequence[float]] | tuple[NDArray[Any], ...],
        rewards: ArrayLike,
        *,
        start: int | ArrayLike = 0,
        reward_draws: Draws = "deterministic",
    ) -> "MDP":
        """From P's entries: (s, a, y, p) for each, or (h, s, a, y, p) if they depend on the stage.

        A tuple of arrays is taken as the columns. Entries may come in any order, each once; what
        is not named has probability zero.
        """
        if not isinstance(shape, Shape):
            raise TypeError(f"shape must be a Shape, not {shape!r}.")
        columns = _columns(entries)
        H, S, A = shape.table
        homogeneous = len(columns) == 4
        stage = [] if homogeneous else [("stage", H)]
        names = [*stage, ("state", S), ("action", A), ("successor", S)]
        for (name, limit), column in zip(names, columns[:-1], strict=True):
            bad = np.flatnonzero(~((column >= 0) & (column < limit) & (column == np.floor(column))))
            if bad.size:
                at = int(bad[0])
                entry = ", ".join(f"{x[at]:g}" for x in columns)
                raise ValueError(
                    f"entries[{at}] = ({entry}) has {name} {column[at]:g}; "
                    f"allowed are 0 .. {limit - 1}."
                )
        flat = np.zeros(columns[0].size, np.int64)
        for (_, limit), column in zip(names, columns[:-1], strict=True):
            flat *= limit
            flat += column.astype(np.int64, copy=False)
        r = _floats("rewards", rewards)
        return cls._build(shape, homogeneous, flat, columns[-1], r, start, reward_draws)

    @classmethod
    def _build(
        cls,
        shape: Shape,
        homogeneous: bool,
        flat: Ints,
        prob: Floats,
        rewards: Floats,
        start: int | ArrayLike,
        reward_draws: Draws,
    ) -> "MDP":
        """From probabilities and where they stand in P, flat: row * S + successor."""
        H, S, A = shape.table
        if reward_draws not in DRAWS:
            raise ValueError(f"reward_draws is {reward_draws!r}; it must be one of {DRAWS}.")
        order = np.argsort(flat, kind="stable")
        flat, prob = flat[order], prob[order]
        for j in np.flatnonzero(~((prob >= 0) & (prob <= 1 + TOLERANCE)))[:1]:
            raise ValueError(
                f"The probability of successor {flat[j] % S} of "
                f"{_place(shape, homogeneous, flat[j] // S)} is {prob[j]}; it must lie in [0, 1]."
            )
        for j in np.flatnonzero(flat[1:] == flat[:-1])[:1]:
            raise ValueError(
                f"Successor {flat[j] % S} of {_place(shape, homogeneous, flat[j] // S)} "
                "is given more than once; give its whole probability in one entry."
            )
        possible = prob > 0
        flat, prob = flat[possible], prob[possible].astype(np.float64)
        rows = (1 if homogeneous else H) * S * A
        ptr = np.searchsorted(flat, np.arange(rows + 1) * S).astype(np.int64)
        cum, sums = np.zeros(prob.size), np.zeros(ptr.size - 1)
        accumulate(ptr, prob, cum, sums)
        for row in np.flatnonzero(np.abs(sums - 1) > TOLERANCE)[:1]:
            raise ValueError(
                f"The probabilities of {_place(shape, homogeneous, row)} sum to {sums[row]}; "
                f"they must sum to 1 within {TOLERANCE:g}."
            )
        first, first_cum = _start(shape, start)
        return cls(
            shape=shape,
            ptr=ptr,
            succ=(flat % S).astype(np.int32),
            prob=prob,
            cum=cum,
            rewards=_rewards(shape, rewards),
            start=first,
            start_cum=first_cum,
            reward_draws=reward_draws,
        )

    @property
    def stages(self) -> int:
        """How many stages of transitions are stored: 1 or H."""
        return (self.ptr.size - 1) // (self.shape.states * self.shape.actions)

    @property
    def homogeneous(self) -> bool:
        """Whether the transitions are stored once, for every step."""
        return self.stages == 1

    def reward_table(self) -> Floats:
        """Mean rewards (H, S, A)."""
        return np.broadcast_to(self.rewards, self.shape.table).copy()

    def transition_table(self) -> Floats:
        """Transitions (H, S, A, S), for small worlds."""
        H, S, A = self.shape.table
        dense = np.zeros((self.ptr.size - 1, S))
        dense[np.repeat(np.arange(self.ptr.size - 1), np.diff(self.ptr)), self.succ] = self.prob
        return np.broadcast_to(dense.reshape(self.stages, S, A, S), (H, S, A, S)).copy()

    def successors(self, h: int, s: int, a: int) -> tuple[NDArray[np.int32], Floats]:
        """The states that may follow (s, a) at step h, in order, and their probabilities."""
        H, S, A = self.shape.table
        for name, value, limit in (("step", h, H), ("state", s, S), ("action", a, A)):
            if not 0 <= value < limit:
                raise ValueError(f"The {name} is {value}; allowed are 0 .. {limit - 1}.")
        row = row_of(self.ptr, self.rewards, h, s, a)
        block = slice(self.ptr[row], self.ptr[row + 1])
        return self.succ[block].copy(), self.prob[block].copy()

    def __repr__(self) -> str:
        kind = "homogeneous" if self.homogeneous else "stage-dependent"
        return (
            f"MDP(states={self.shape.states}, actions={self.shape.actions}, "
            f"horizon={self.shape.horizon}, {kind}, {self.succ.size} successors)"
        )

    def _repr_html_(self) -> str:
        """For notebooks."""
        from belated.mdp.html import describe_html

        return describe_html(self)


@inlined
def row_of(ptr: Ints, rewards: Floats, h: int, s: int, a: int) -> int:
    """The row of (h, s, a)."""
    _, S, A = rewards.shape
    stage = h if ptr.size - 1 > S * A else 0
    row: int = (stage * S + s) * A + a
    return row


@inlined
def mean_reward(rewards: Floats, h: int, s: int, a: int) -> float:
    """R_h(s, a)."""
    mean: float = rewards[h if rewards.shape[0] > 1 else 0, s, a]
    return mean


@kernel
def accumulate(ptr: Ints, prob: Floats, cum: Floats, sums: Floats) -> None:
    """Fill `cum` within each row, and `sums` with what its probabilities sum to.

    From the last possible entry on, `cum` is 1: rounding must neither leave a uniform
    without a successor nor give it an impossible one.
    """
    for row in range(ptr.size - 1):
        total = 0.0
        last = ptr[row]
        for j in range(ptr[row], ptr[row + 1]):
            total += prob[j]
            cum[j] = min(total, 1.0)
            if prob[j] > 0:
                last = j
        for j in range(last, ptr[row + 1]):
            cum[j] = 1.0
        sums[row] = total


def _floats(name: str, values: ArrayLike) -> Floats:
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a rectangular array of numbers.") from None


def _columns(entries: Iterable[Sequence[float]] | tuple[NDArray[Any], ...]) -> list[NDArray[Any]]:
    if isinstance(entries, tuple) and entries and all(isinstance(x, np.ndarray) for x in entries):
        columns = [np.asarray(x) for x in entries]
        if any(x.dtype.kind not in "iuf" for x in columns):
            raise TypeError("entries must be arrays of integers, the last one of numbers.")
        shapes = {x.shape for x in columns}
        if len(shapes) != 1 or columns[0].ndim != 1 or len(columns) not in (4, 5):
            raise ValueError(
                f"entries has columns of shapes {', '.join(str(x.shape) for x in columns)}; "
                "it needs 4 (s, a, y, p) or 5 (h, s, a, y, p), flat and equally long."
            )
        return columns
    listed: Any = entries if isinstance(entries, np.ndarray) else list(entries)
    rows = _floats("entries", listed)
    if rows.ndim != 2 or rows.shape[1] not in (4, 5):
        raise ValueError(
            f"entries has shape {rows.shape}; each entry must be (s, a, y, p) or (h, s, a, y, p)."
        )
    return list(rows.T)


def _place(shape: Shape, homogeneous: bool, row: int) -> str:
    cell, action = divmod(int(row), shape.actions)
    stage, state = divmod(cell, shape.states)
    return ("" if homogeneous else f"stage {stage}, ") + f"state {state}, action {action}"


def _rewards(shape: Shape, rewards: Floats) -> Floats:
    if rewards.shape not in (shape.table, shape.table[1:]):
        raise ValueError(
            f"rewards has shape {rewards.shape}; it must be (S, A) = {shape.table[1:]} "
            f"or (H, S, A) = {shape.table}."
        )
    for row in np.flatnonzero(~((rewards >= 0) & (rewards <= 1)))[:1]:
        raise ValueError(
            f"The reward of {_place(shape, rewards.ndim == 2, row)} is {rewards.flat[row]}; "
            "it must lie in [0, 1]."
        )
    return rewards.reshape(-1, *shape.table[1:])


def _start(shape: Shape, start: int | ArrayLike) -> tuple[Floats, Floats]:
    """The law of the first state, and its cumulative sums."""
    S = shape.states
    if isinstance(start, int | np.integer) and not isinstance(start, bool):
        if not 0 <= start < S:
            raise ValueError(f"start is {start}; allowed are 0 .. {S - 1}.")
        law = np.zeros(S)
        law[start] = 1.0
    else:
        law = _floats("start", start)
        if law.shape != (S,):
            raise ValueError(
                f"start is {start!r}; it must be a state or a distribution over the {S} states."
            )
        for s in np.flatnonzero(~((law >= 0) & (law <= 1 + TOLERANCE)))[:1]:
            raise ValueError(f"start gives state {s} probability {law[s]}; it must lie in [0, 1].")
    cum, sums = np.zeros(S), np.zeros(1)
    accumulate(np.array([0, S]), law, cum, sums)
    if abs(sums[0] - 1) > TOLERANCE:
        raise ValueError(f"start sums to {sums[0]}; it must sum to 1 within {TOLERANCE:g}.")
    return law, cum
