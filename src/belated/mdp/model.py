"""Tabular finite-horizon MDP in compressed sparse row format.

A row is the index of one (stage, state, action): row = (stage * S + state) * A + action. The
possible successors of a row are `succ[ptr[row]:ptr[row + 1]]`, in ascending order, with
probabilities `prob[ptr[row]:ptr[row + 1]]`. A stage is a step, except that transitions which are
the same at every step are stored only once, as a single stage. The same holds for rewards.

>>> world = MDP.sparse(Shape(2, 1, 3), [(0, 0, 1, 1.0), (1, 0, 0, 0.5), (1, 0, 1, 0.5)], [[0], [1]])
>>> world
MDP(states=2, actions=1, horizon=3, homogeneous, 3 successors)
>>> world.successors(2, 1, 0)
(array([0, 1], dtype=int32), array([0.5, 0.5]))
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from belated.check import check_index, check_integer, check_numbers
from belated.compiled import inlined, kernel
from belated.episode import Floats, Ints, Shape
from belated.html import describe
from belated.reward_map import Affine
from belated.shape import Allowed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from belated.mdp.worlds import Layout

Draws = Literal["deterministic", "bernoulli", "beta"]
DRAWS: Final[tuple[Draws, ...]] = ("deterministic", "bernoulli", "beta")
"""Values of `MDP.reward_draws`, which are distributions of the reward of a step. Compiled code uses
their indices in this tuple."""

BERNOULLI: Final = DRAWS.index("bernoulli")
BETA: Final = DRAWS.index("beta")

PROBABILITY_TOLERANCE: Final = 1e-9
"""Largest accepted difference between a sum of probabilities and 1."""


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class MDP:
    """Markov decision process: transition probabilities, mean rewards and first states.

    Use `MDP.dense` or `MDP.sparse` to create an MDP; they check their arguments.

    Examples
    --------
    >>> stay_or_go = [[[1.0, 0.0], [0.2, 0.8]], [[0.0, 1.0], [0.9, 0.1]]]    # P[s, a, y]
    >>> world = MDP.dense(np.array(stay_or_go), np.array([[0.0, 0.0], [1.0, 0.2]]), horizon=4)
    >>> world
    MDP(states=2, actions=2, horizon=4, homogeneous, 6 successors)
    >>> world.shape.states, world.homogeneous
    (2, True)
    """

    shape: Shape
    """Numbers of states S, actions A and steps H, terminal states and allowed actions."""
    ptr: Ints
    """Index into `succ` of the first successor of each row, shape (rows + 1,). The last entry is
    the length of `succ`."""
    succ: NDArray[np.int32]
    """Possible successors of all rows, row after row; shape (successors,)."""
    prob: Floats
    """Probability of each entry of `succ`; shape (successors,)."""
    cum: Floats
    """Cumulative sums of `prob` within each row, ending with exactly 1; shape (successors,)."""
    rewards: Floats
    """Mean rewards in [0, 1]; shape (1, S, A) if time-homogeneous, otherwise (H, S, A)."""
    start: Floats
    """Probability of each state to be the first of an episode; shape (S,)."""
    start_cum: Floats
    """Cumulative sums of `start`, shape (S,). They are exactly 1 for the last state whose
    probability in `start` is positive, and for all states after it."""
    reward_draws: Draws
    """Way to draw the reward of a step with mean m: m itself ("deterministic"); 1 with probability
    m and otherwise 0 ("bernoulli"); or a draw from Beta(m / (1 - m), 1), which has mean m
    ("beta")."""
    reward_map: Affine = Affine()  # noqa: RUF009
    """Map between rewards in [0, 1] and rewards in the original units of the world."""

    @classmethod
    def dense(
        cls,
        transitions: ArrayLike,
        rewards: ArrayLike,
        *,
        start: int | ArrayLike = 0,
        horizon: int | None = None,
        reward_draws: Draws = "deterministic",
        terminal: Iterable[int] = (),
        allowed: Allowed = None,
    ) -> "MDP":
        """Build an MDP from arrays of all transition probabilities and mean rewards.

        Parameters
        ----------
        transitions : array_like
            P[s, a, y], the probability that state y follows action a in state s; shape
            (S, A, S), or (H, S, A, S) if probabilities depend on the step.
        rewards : array_like
            Mean rewards in [0, 1]; shape (S, A), or (H, S, A) if they depend on the step.
        start : int or array_like
            First state of every episode, or the probability of each state to be the first,
            shape (S,).
        horizon : int, optional
            Number of steps H of an episode; required if neither `transitions` nor `rewards` has
            an axis of steps.
        reward_draws : {"deterministic", "bernoulli", "beta"}
            Distribution of the reward of a step; see the attribute `reward_draws`.
        terminal : iterable of int
            States in which an episode ends. Their transitions are ignored, and their rewards must
            be 0.
        allowed : mapping or array_like, optional
            Actions that may be played: a list of actions for each restricted state, or a mask of
            shape (S, A) or (H, S, A). An action that is never allowed needs no transitions.

        Returns
        -------
        MDP

        Raises
        ------
        ValueError
            If a shape is wrong, the shapes and `horizon` contradict each other, probabilities do
            not sum to 1, a probability or reward lies outside [0, 1], a terminal state has a
            reward or may be the first state, or no action is allowed in a state.

        Examples
        --------
        >>> world = MDP.dense([[[0.5, 0.5]], [[0, 1]]], [[0], [1]], horizon=3)
        >>> world.successors(0, 0, 0)
        (array([0, 1], dtype=int32), array([0.5, 0.5]))
        """
        p = check_numbers("transitions", transitions)
        r = check_numbers("rewards", rewards)
        if p.ndim not in (3, 4) or p.shape[-3] != p.shape[-1] or p.size == 0:
            raise ValueError(
                f"transitions must have shape (S, A, S) or (H, S, A, S), got {p.shape}."
            )
        stages = {len(x) for x, axes in ((p, 4), (r, 3)) if x.ndim == axes}
        if horizon is not None:
            stages.add(check_integer("horizon", horizon, 1))
        if not stages:
            raise ValueError(
                f"horizon is missing: transitions {p.shape} and rewards {r.shape} have no axis of "
                "steps; pass horizon=, the number of steps of an episode."
            )
        if len(stages) != 1:
            raise ValueError(
                f"transitions {p.shape}, rewards {r.shape} and horizon={horizon} must agree on "
                f"one number of steps, got {sorted(stages)}."
            )
        sizes = p.shape[-1], p.shape[-2], stages.pop()
        shape = Shape(*sizes, terminal=terminal, allowed=allowed)
        entries = *np.nonzero(p), p[p != 0]
        return cls.sparse(shape, entries, r, start=start, reward_draws=reward_draws)

    @classmethod
    def sparse(
        cls,
        shape: Shape,
        entries: Iterable[Sequence[float]] | tuple[NDArray[Any], ...],
        rewards: ArrayLike,
        *,
        start: int | ArrayLike = 0,
        reward_draws: Draws = "deterministic",
        terminal: Iterable[int] = (),
        allowed: Allowed = None,
    ) -> "MDP":
        """Build an MDP from a list of possible transitions and their probabilities.

        Parameters
        ----------
        shape : Shape
            Numbers of states S, actions A and steps H.
        entries : iterable of tuples, or tuple of arrays
            One tuple (s, a, y, p) for each transition: state y follows action a in state s with
            probability p. If probabilities depend on the step h, each tuple is (h, s, a, y, p).
            A tuple of arrays holds the same data as columns. The order of the transitions is
            arbitrary. Each transition may be given only once; a transition that is not given has
            probability 0.
        rewards : array_like
            Mean rewards in [0, 1]; shape (S, A), or (H, S, A) if they depend on the step.
        start : int or array_like
            First state of every episode, or the probability of each state to be the first,
            shape (S,).
        reward_draws : {"deterministic", "bernoulli", "beta"}
            Distribution of the reward of a step; see the attribute `reward_draws`.
        terminal : iterable of int
            States in which an episode ends. Their transitions are ignored, and their rewards must
            be 0.
        allowed : mapping or array_like, optional
            Actions that may be played: a list of actions for each restricted state, or a mask of
            shape (S, A) or (H, S, A). An action that is never allowed needs no transitions.

        Returns
        -------
        MDP

        Raises
        ------
        ValueError
            If an index is out of range, a transition is given twice, the probabilities of a
            (state, action) do not sum to 1, a probability or reward lies outside [0, 1], a terminal
            state has a reward or may be the first state, or no action is allowed in a state.

        Examples
        --------
        >>> MDP.sparse(Shape(2, 1, 3), [(0, 0, 1, 1.0), (1, 0, 1, 1.0)], [[0], [1]])
        MDP(states=2, actions=1, horizon=3, homogeneous, 2 successors)
        """
        if not isinstance(shape, Shape):
            raise TypeError(f"shape must be a Shape, got {shape!r}.")
        shape = shape.restrict(terminal=terminal, allowed=allowed)
        columns = _entry_columns(entries)
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
                    f"{name} of entries[{at}] must be in 0 .. {limit - 1}, "
                    f"got {column[at]:g} in ({entry})."
                )
        indices = [column.astype(np.int64, copy=False) for column in columns[:-1]]
        flat, prob = np.ravel_multi_index(indices, [limit for _, limit in names]), columns[-1]
        if reward_draws not in DRAWS:
            raise ValueError(f"reward_draws must be one of {DRAWS}, got {reward_draws!r}.")
        if shape.is_restricted:
            flat, prob = _close(shape, homogeneous, flat, prob)
        order = np.argsort(flat, kind="stable")
        flat, prob = flat[order], prob[order]
        for j in np.flatnonzero(~((prob >= 0) & (prob <= 1 + PROBABILITY_TOLERANCE)))[:1]:
            raise ValueError(
                f"The probability of successor {flat[j] % S} of "
                f"{_format_row(shape, homogeneous, flat[j] // S)} must lie in [0, 1], "
                f"got {prob[j]}."
            )
        for j in np.flatnonzero(flat[1:] == flat[:-1])[:1]:
            raise ValueError(
                f"Successor {flat[j] % S} of {_format_row(shape, homogeneous, flat[j] // S)} "
                "must be given only once; add up its probabilities in one entry."
            )
        possible = prob > 0
        flat, prob = flat[possible], prob[possible].astype(np.float64)
        rows = (1 if homogeneous else H) * S * A
        ptr = np.searchsorted(flat, np.arange(rows + 1) * S).astype(np.int64)
        cum, sums = np.zeros(prob.size), np.zeros(ptr.size - 1)
        fill_cumulative(ptr, prob, cum, sums)
        for row in np.flatnonzero(np.abs(sums - 1) > PROBABILITY_TOLERANCE)[:1]:
            raise ValueError(
                f"The probabilities of {_format_row(shape, homogeneous, row)} must sum to 1 "
                f"within {PROBABILITY_TOLERANCE:g}, got {sums[row]}."
            )
        first, first_cum = start_distribution(S, start)
        for s in np.flatnonzero(first * shape.is_terminal)[:1]:
            raise ValueError(f"start must not be the terminal state {s}, got {start!r}.")
        return cls(
            shape=shape,
            ptr=ptr,
            succ=(flat % S).astype(np.int32),
            prob=prob,
            cum=cum,
            rewards=shape.check_rewards(rewards),
            start=first,
            start_cum=first_cum,
            reward_draws=reward_draws,
        )

    @property
    def stages(self) -> int:
        """Number of stages for which transitions are stored: 1 if homogeneous, otherwise H."""
        return (self.ptr.size - 1) // (self.shape.states * self.shape.actions)

    @property
    def homogeneous(self) -> bool:
        """Whether the transitions are time-homogeneous and therefore stored only once."""
        return self.stages == 1

    def reward_table(self) -> Floats:
        """Return the mean rewards as a new array of shape (H, S, A)."""
        return np.broadcast_to(self.rewards, self.shape.table).copy()

    def transition_table(self) -> Floats:
        """Return all transition probabilities as a dense array of shape (H, S, A, S).

        Use this method for small worlds only, because the array has H * S * A * S entries.
        """
        H, S, A = self.shape.table
        dense = np.zeros((self.ptr.size - 1, S))
        dense[np.repeat(np.arange(self.ptr.size - 1), np.diff(self.ptr)), self.succ] = self.prob
        return np.broadcast_to(dense.reshape(self.stages, S, A, S), (H, S, A, S)).copy()

    def successors(self, h: int, s: int, a: int) -> tuple[NDArray[np.int32], Floats]:
        """Return the possible successors of a step and their probabilities.

        Parameters
        ----------
        h : int
            Step, in 0 .. H - 1.
        s : int
            State, in 0 .. S - 1.
        a : int
            Action, in 0 .. A - 1.

        Returns
        -------
        tuple[ndarray, ndarray]
            Possible successors in ascending order, and the probability of each successor.
        """
        H, S, A = self.shape.table
        for name, value, limit in (("step", h, H), ("state", s, S), ("action", a, A)):
            check_index(f"The {name}", value, limit)
        row = row_of(self.ptr, self.rewards, h, s, a)
        block = slice(self.ptr[row], self.ptr[row + 1])
        return self.succ[block].copy(), self.prob[block].copy()

    def plot(
        self,
        *,
        ax: "Axes | None" = None,
        layout: "Layout | None" = None,
        actions: Sequence[str] = (),
    ) -> "Axes":
        """Draw the world: its states, transitions, rewards and optimal actions.

        If `layout` is not given and the world does not fit any layout, as a chain of more than 12
        states, a table of the optimal values is drawn instead.

        Parameters
        ----------
        ax : Axes, optional
            Axes of Matplotlib to draw on; by default those of a new figure.
        layout : {"row", "ring"} or tuple of int, optional
            Arrangement of the states: in a row, in a ring, or in a grid of (rows, columns). By
            default it is derived from the transitions. ValueError is raised if the world does not
            fit the given layout.
        actions : sequence of str
            Names of the actions. If empty, the actions are numbered.

        Returns
        -------
        Axes
            The axes.
        """
        import belated

        return belated.plot(self, ax=ax, layout=layout, actions=actions)

    def __repr__(self) -> str:
        kind = "homogeneous" if self.homogeneous else "stage-dependent"
        size = repr(self.shape).removeprefix("Shape(").removesuffix(")")
        return f"MDP({size}, {kind}, {self.succ.size} successors)"

    def _repr_html_(self) -> str:
        """Return the HTML description that notebooks display."""
        from belated.mdp.summary import summary

        return describe("MDP", summary(self))


@inlined
def row_of(ptr: Ints, rewards: Floats, h: int, s: int, a: int) -> int:
    """Return the row of step `h`, state `s` and action `a` in the arrays of an MDP.

    `ptr` and `rewards` are the arrays of the MDP, from which its sizes are derived.
    """
    _, S, A = rewards.shape
    stage = h if ptr.size - 1 > S * A else 0
    row: int = (stage * S + s) * A + a
    return row


@inlined
def draw(cum: Floats, lo: int, hi: int, u: float) -> int:
    """Return the first index j in `lo` .. `hi` - 1 with `u` < `cum[j]`.

    In that range, `cum` must be non-decreasing and end with 1. `u` must lie in [0, 1).
    """
    last = hi - 1
    while lo < last:
        middle = (lo + last) // 2
        if u < cum[middle]:
            last = middle
        else:
            lo = middle + 1
    return lo


@inlined
def draw_reward(kind: int, mean: float, u: float) -> float:
    """Return a reward drawn from a distribution with mean `mean`, from the uniform number `u`.

    `kind` is the index of the distribution in `DRAWS`.
    """
    if kind == BERNOULLI:
        return 1.0 if u < mean else 0.0
    if kind == BETA and 0.0 < mean < 1.0:
        return u ** ((1.0 - mean) / mean)
    return mean


@inlined
def mean_reward(rewards: Floats, h: int, s: int, a: int) -> float:
    """Return R_h(s, a), the mean reward of action `a` in state `s` at step `h`.

    `rewards` has shape (1, S, A) if rewards are the same at every step, else (H, S, A).
    """
    mean: float = rewards[h if rewards.shape[0] > 1 else 0, s, a]
    return mean


@kernel
def fill_cumulative(ptr: Ints, prob: Floats, cum: Floats, sums: Floats) -> None:
    """Fill `cum` with the cumulative sums of `prob` within each row, and `sums` with row totals.

    Row j consists of the entries `ptr[j]` .. `ptr[j + 1] - 1` of `prob` and `cum`. In each row,
    `cum` is exactly 1 at the last entry with positive probability and at all later entries. In
    spite of rounding, every uniform number in [0, 1) then selects an entry with positive
    probability.
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


def _entry_columns(
    entries: Iterable[Sequence[float]] | tuple[NDArray[Any], ...],
) -> list[NDArray[Any]]:
    """Return the argument `entries` of `MDP.sparse` as 4 or 5 columns of equal length."""
    if isinstance(entries, tuple) and entries and all(isinstance(x, np.ndarray) for x in entries):
        columns = list(entries)
    else:
        listed: Any = entries if isinstance(entries, np.ndarray) else list(entries)
        columns = list(check_numbers("entries", listed).T)
    if any(x.dtype.kind not in "iuf" for x in columns):
        raise TypeError(
            "entries must be arrays of integers and, last, an array of probabilities, "
            f"got types {', '.join(str(x.dtype) for x in columns)}."
        )
    shapes = [x.shape for x in columns]
    if len(columns) not in (4, 5) or len(set(shapes)) != 1 or len(shapes[0]) != 1:
        raise ValueError(
            "entries must have 4 columns (s, a, y, p) or 5 (h, s, a, y, p), flat and equally "
            f"long, got shapes {', '.join(map(str, shapes))}."
        )
    return columns


def _format_row(shape: Shape, homogeneous: bool, row: int) -> str:
    """Return the stage, state and action of `row` as text for an error message.

    The stage is omitted if the transitions of the world are `homogeneous`.
    """
    cell, action = divmod(int(row), shape.actions)
    stage, state = divmod(cell, shape.states)
    return ("" if homogeneous else f"stage {stage}, ") + f"state {state}, action {action}"


def _close(shape: Shape, homogeneous: bool, flat: Ints, prob: Floats) -> tuple[Ints, Floats]:
    """Return transition probabilities in which terminal states lead to themselves.

    Actions that are never allowed and have no transitions lead back to their state, too.

    Parameters
    ----------
    shape : Shape
        Size, terminal states and allowed actions.
    homogeneous : bool
        Whether the transitions are the same at every step.
    flat, prob : ndarray
        Flat indices row * S + successor, and the probability of each.

    Returns
    -------
    tuple[ndarray, ndarray]
        New flat indices and probabilities.
    """
    S, A = shape.states, shape.actions
    usable = shape.playable
    if homogeneous:
        usable = np.array([usable.any(axis=0)])
    state = np.tile(np.repeat(np.arange(S), A), len(usable))  # of each row
    terminal = shape.is_terminal[state]
    kept = ~terminal[flat // S]
    flat, prob = flat[kept], prob[kept]
    empty = np.bincount(flat // S, minlength=state.size) == 0
    loops = np.flatnonzero(terminal | (empty & ~usable.ravel()))
    flat = np.concatenate([flat, loops * S + state[loops]])
    return flat, np.concatenate([prob, np.ones(loops.size)])


def start_distribution(S: int, start: int | ArrayLike) -> tuple[Floats, Floats]:
    """Return the distribution of the first state and its cumulative sums, each of shape (S,).

    `S` is the number of states. `start` is the first state of every episode, or the probability
    of each state to be the first.
    """
    if isinstance(start, int | np.integer) and not isinstance(start, bool):
        first = np.zeros(S)
        first[check_index("start", start, S)] = 1.0
    else:
        first = check_numbers("start", start)
        if first.shape != (S,):
            raise ValueError(
                f"start must be a state or a distribution over the {S} states, got {start!r}."
            )
        for s in np.flatnonzero(~((first >= 0) & (first <= 1 + PROBABILITY_TOLERANCE)))[:1]:
            raise ValueError(f"start[{s}] must lie in [0, 1], got {first[s]}.")
    cum, sums = np.zeros(S), np.zeros(1)
    fill_cumulative(np.array([0, S]), first, cum, sums)
    if abs(sums[0] - 1) > PROBABILITY_TOLERANCE:
        raise ValueError(f"start must sum to 1 within {PROBABILITY_TOLERANCE:g}, got {sums[0]}.")
    return first, cum
