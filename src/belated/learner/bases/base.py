"""Base classes of the base algorithms, with their options and the properties that learners read."""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from belated.check import check_choices, check_factor, check_probability
from belated.compiled import JIT
from belated.episode import Floats, Ints, Shape
from belated.learner.backup import Backup, Function, Reads, Row, Stage

if TYPE_CHECKING:
    from belated.learner.updaters.updater import Updater
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, eq=False)
class Plan:
    """Policy, and the optimistic values with respect to which the policy is greedy."""

    policy: NDArray[np.int32]
    """Action for each step and state, of shape (H, S)."""
    q: Floats
    """Values Q_h(s, a) of the actions, of shape (H, S, A)."""
    v: Floats
    """Values V~_h(s) of the states, of shape (H + 1, S); the last row is zero."""


@runtime_checkable
class Planner(Protocol):
    """Protocol of a base algorithm written in plain Python, with dense arrays as its input.

    For a problem with terminal states or forbidden actions, `plan` must also accept the keyword
    `shape`, a `Shape` that holds them.
    """

    def plan(self, visits: Ints, transitions: Ints, rewards: Floats, episodes: int) -> Plan:
        """Return the plan for given counts and rewards.

        Parameters
        ----------
        visits : Ints
            Counts N' of shape (stages, S, A). There is one stage if counts are pooled; otherwise
            there are H.
        transitions : Ints
            Counts M' of shape (stages, S, A, S).
        rewards : Floats
            Mean rewards, or their estimates if they are unknown, of shape (H, S, A).
        episodes : int
            Number of episodes K.

        Returns
        -------
        Plan
            The policy and its values.
        """
        ...


def check_plan(plan: Plan, shape: Shape) -> None:
    """Raise ValueError if the `plan` of a planner does not fit a problem of size `shape`.

    Actions must be integers, in range and allowed; the value of a terminal state must be 0.
    """
    H, S, A = shape.table
    actions: Ints = np.asarray(plan.policy)
    v: Floats = np.asarray(plan.v)
    for name, size in (("policy", (H, S)), ("q", (H, S, A)), ("v", (H + 1, S))):
        if np.shape(found := getattr(plan, name)) != size:
            raise ValueError(f"{name} of a plan must have shape {size}, got {np.shape(found)}.")
    if actions.dtype.kind not in "iu":
        raise ValueError(f"policy of a plan must consist of integers, got {actions.dtype}.")
    for action in actions[(actions < 0) | (actions >= A)][:1]:
        raise ValueError(f"Each planned action must lie in 0 .. {A - 1}, got {action}.")
    shape.check_actions("Each planned action", actions)
    for value in v[:, shape.is_terminal][v[:, shape.is_terminal] != 0][:1]:
        raise ValueError(f"v of a plan must be 0 in terminal states, got {value}.")


Resample = Literal["auto", "update", "episode"]
"""Time at which a base draws new random numbers: at each update, at each episode, or chosen
automatically; see `resamples_every_episode`."""


class Proof(NamedTuple):
    """Declaration of what is proved about the optimism of a base with certain options.

    Optimism is proved if V~ >= V* in all episodes with probability 1 - delta, at scale 1 and with
    known rewards.
    """

    by: str
    """Publication, or argument, that proves optimism; empty if no proof is known."""
    counts: Literal["", "each", "pooled", "each, pooled"] = ""
    """Values of the option `stages` that the proof covers; empty if there is no proof."""
    note: str = ""
    """Conditions of the proof, or the reason why there is none."""
    options: Mapping[str, Any] = MappingProxyType({})
    """Map from names of options of the base to values. The declaration applies if these options
    have these values; other options may have any value."""


class OwnState(NamedTuple):
    """Memory that a base lays out itself; all arrays are empty for a base without hooks."""

    numbers: Floats  # (Hooks.size)
    queue: NDArray[np.float64]  # (capacity, Hooks.width) arrivals that have not been processed
    queued: NDArray[np.int64]  # (1) number of these arrivals


class Hooks(NamedTuple):
    """Functions of a base that learns from single steps, in order of arrival, not from counts."""

    absorb: Callable[..., int]
    """Kernel of (pointer, row, successor, reward) that processes an observed step. `pointer` is
    that of the `LearnerRecord`; `OwnState.queue` has room for the step."""

    plan: Callable[..., int]
    """Kernel of (pointer, plan) that updates values and actions in the table, and lists the changed
    actions in `LearnerState.changed`. `plan` is the number of the plan."""

    initialise: Callable[[Floats, Floats, Floats], None]
    """Function of (constants, q, v) that sets the values before the first plan."""

    check: Callable[[OwnState, Shape], None]
    """Function that raises ValueError if a state from a snapshot is not valid."""

    size: int = 0  # length of OwnState.numbers
    width: int = 0  # numbers of an arrival in OwnState.queue


def no_absorb(pointer: Any, row: int, successor: int, reward: float) -> int:
    """Return 0; takes the place of `Hooks.absorb` for a base without hooks."""
    return 0


def no_plan(pointer: Any, plan: int) -> int:
    """Return 0; takes the place of `Hooks.plan` for a base without hooks."""
    return 0


class BackupRule(NamedTuple):
    """Backup function of a base, its constants and a declaration of its inputs.

    A planner calls the backup with these constants for each row of the counts.
    """

    backup: Backup | Function
    constants: NDArray[np.float64]
    reads: Reads = "order"
    """Values of V~_{h+1} that the backup reads. "successors": only the values of the row's
    successors. "best": also the largest value, `stage.top`. "extremes": also the smallest value,
    `stage.low`. "above": the largest value, and the values of all states that are at least the mean
    <P^, V~_{h+1}>; for a row without observations, only the largest value. "everything": the values
    of all states. "order": also the order of the states by value, `stage.order`. Each choice
    includes the choices before it, except that "above" does not include `stage.low`. The fewer
    values a backup reads, the fewer rows incremental planning recomputes."""
    reads_visits: bool = False
    """Whether the backup reads N'_{h+1}(y), `stage.visits`, for the successors y of the row."""
    samples: bool = False
    """Whether the backup draws random numbers, with `stage.seed` and `stage.plan` as their key, or
    reads `stage.observed`, the number of observed steps. If so, every plan recomputes all rows."""
    kept_samples: int = 0
    """Numbers of each row that the backup draws once for a plan if counts are pooled, and keeps in
    `stage.samples`. The array is empty if counts are not pooled, or if it would be too large."""
    hooks: Hooks | None = None
    """Functions of a base that owns state and learns from single steps; see `stepwise`."""


def no_backup(constants: Floats, stage: Stage, row: Row) -> float:
    """Return 0; takes the place of a backup where no kernel calls it."""
    return 0.0


NO_RULE: Final = BackupRule(Backup(no_backup, JIT), np.zeros(1))
"""Rule of a base that does not plan with kernels."""


@dataclass(frozen=True)
class BaseAlgorithm:
    """Base class of all base algorithms; optimistic ones derive from its subclass `Base`.

    A subclass defines `name` and `backup_rule`, and overrides the properties whose default does not
    apply to it.
    """

    name: ClassVar[str] = "base"
    stepwise: ClassVar[bool] = False
    """Whether the base learns from single steps, in order of arrival. If not, the base plans from
    counts."""
    reward_estimate: ClassVar[Literal["bonus", "mean", "sample", "ridge"]] = "bonus"
    """Estimate of an unknown reward: the mean of the observed rewards plus a bonus ("bonus"), the
    mean alone ("mean"), a sample from the posterior distribution ("sample"), or the sum of the
    observed rewards divided by N' + 1 ("ridge")."""
    optimistic: ClassVar[bool] = False
    """Whether the base is designed such that V~ >= V* with high probability."""
    needs_optimal_policy: ClassVar[bool] = False
    """Whether a simulation must call `with_optimal_policy` before it runs the base."""
    planner: ClassVar[Any] = None
    """Python object whose method `plan` computes plans; None for a base with a backup rule."""

    # A base overrides these by an option of the same name.
    delta = 0.05
    """Probability delta in the formulas."""
    scale = 1.0
    """Factor by which all bonuses are multiplied; 1 is as published."""
    monotone = False
    """Whether each plan limits every Q_h(s, a) to its value in the previous plan."""
    epsilon = 0.0
    """Probability that the action of a step is drawn uniformly, not taken from the plan."""
    ties = "first"
    """Choice among several actions with the largest value; see `TieBreakingBase`."""

    proofs: ClassVar[tuple[Proof, ...]] = ()
    """Declarations of what is proved about the optimism of the base, each for certain values of its
    options. The first declaration whose options agree with those of the base applies."""

    def __post_init__(self) -> None:
        check_choices(self)

    @property
    def proof(self) -> Proof:
        """The declaration in `proofs` that applies to the options of this base.

        If there is none, the result says that no proof is known.
        """
        for proof in self.proofs:
            if all(getattr(self, option) == value for option, value in proof.options.items()):
                return proof
        return Proof("")

    def replans_every_episode(self, updater: "Updater") -> bool:
        """Return whether to plan for every episode, even if `updater` does not require a plan."""
        return False

    def with_half_delta(self) -> Self:
        """Return a copy of the base with half its delta, or the base itself if it has no delta.

        The copy is used if rewards are unknown. The estimates of the rewards then use the other
        half of delta.
        """
        return self

    def with_optimal_policy(self, actions: Ints) -> "BaseAlgorithm":
        """Return the base to run in a world with the optimal policy `actions`.

        `actions` has shape (H, S): the action for each step and state. By default the base itself
        is returned.
        """
        return self

    def backup_rule(self, shape: Shape, episodes: int) -> BackupRule:
        """Return the backup, its constants and a declaration of its inputs.

        Parameters
        ----------
        shape : Shape
            Sizes (S, A, H) of the problem.
        episodes : int
            Number of episodes K, on which logarithmic terms depend.

        Returns
        -------
        BackupRule
            The rule. With it, a plan is a pure function of the counts.
        """
        raise TypeError(f"{type(self).__name__} needs a method backup_rule(shape, episodes).")


@dataclass(frozen=True)
class TieBreakingBase(BaseAlgorithm):
    """Base algorithm with an option for breaking ties.

    Parameters
    ----------
    ties : {"first", "random"}
        Choice among several actions with the largest value. "first": the action with the lowest
        index. "random": an action drawn at random, separately for each plan, step and state.
    """

    _: KW_ONLY
    ties: Literal["first", "random"] = "first"


def resamples_every_episode(resample: Resample, updater: "Updater") -> bool:
    """Return whether a base that draws random numbers plans for every episode.

    Parameters
    ----------
    resample : {"auto", "update", "episode"}
        Option of the base: "update" draws new random numbers whenever the updater requires a plan,
        "episode" for every episode. "auto" is "update" with an updater that may skip plans, such as
        `Lazy`, `Batched` and `Scheduled`, else "episode".
    updater : Updater
        Updater of the learner. The answer is False for multi-instance updating, because an instance
        receives the feedback of its episode before it plays another one.

    Returns
    -------
    bool
        Whether to plan for every episode.
    """
    if updater.multi_instance:
        return False
    return resample == "episode" or (resample == "auto" and not updater.is_lazy)


@dataclass(frozen=True)
class Base(TieBreakingBase):
    """Optimistic base algorithm Base(N', M') -> policy, defined by one backup function.

    A subclass defines `name` and the method `backup_rule(shape, episodes)`, which returns the
    backup and its constants. All dependence on the size of the problem, the number of episodes and
    the options is in the constants, so that a plan is a pure function of the counts.

    Parameters
    ----------
    delta : float
        Probability delta in the formulas, in (0, 1). If optimism is proved, it fails with at most
        this probability; see `proof`.
    scale : float
        Factor of the bonus or of the radius of the confidence set, at least 0; 1 is as published.
        Nothing is proved for a smaller factor.
    monotone : bool
        If True, no Q_h(s, a) becomes larger from one plan to the next.
    ties : {"first", "random"}
        Choice among several actions with the largest value. "first": the action with the lowest
        index. "random": an action drawn at random, separately for each plan, step and state.
    """

    optimistic = True

    _: KW_ONLY
    delta: float = 0.05
    scale: float = 1.0
    monotone: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_probability("delta", self.delta)
        check_factor("scale", self.scale)
        if not isinstance(self.monotone, bool):
            raise TypeError(f"monotone must be True or False, got {self.monotone!r}.")

    def with_half_delta(self) -> Self:
        return replace(self, delta=self.delta / 2)
