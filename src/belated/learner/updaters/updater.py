"""Base class of the updaters: rules that decide when a learner plans."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, NamedTuple, Protocol, Self

import numpy as np

from belated.episode import Bools, Ints, Shape
from belated.learner.exploration import Exploration

if TYPE_CHECKING:
    from belated.learner.updaters.trigger import TriggerRule

PLANS_PER_EPISODE: Final = 0.7
"""Estimated number of plans per episode if a plan is due after every arrival of feedback. It is
below 1, because the feedback of several episodes may arrive at the same time."""


class Arrival(NamedTuple):
    """Data from which an updater decides whether to plan, after new feedback has been counted.

    The index of a row is (stage * S + state) * A + action. If only rewards are delayed, the counts
    are those of the observed rewards.
    """

    counts: Ints  # (rows) current N'
    epoch_counts: Ints  # (rows) N' at the last plan
    rows: Ints  # indices of the rows of the new feedback, in order of arrival; may repeat
    arrived: int  # number of new items of feedback (episodes or steps)
    since_plan: int  # number of items of feedback since the last plan, including the new ones
    alpha: float = math.inf  # result of `Updater.epoch_alpha` for this epoch
    age: int = 0  # number of episodes started since the last plan
    own: int = 0  # number of those episodes whose feedback has arrived completely
    epoch: int = 1  # number of the epoch: 1 until the first plan from observations
    now_s: float = 0.0  # online: time of the arrival, in seconds since 1970 (UTC)
    planned_s: float = 0.0  # online: time of the last plan, in seconds since 1970 (UTC)


class DelayLaw(Protocol):
    """Distribution of delays, as far as an updater needs it; see `belated.delays.Law`."""

    @property
    def name(self) -> str:
        """Name of the law."""
        ...

    @property
    def groups(self) -> Sequence["DelayLaw"]:
        """Laws from which the played episode selects one; the law itself if it does not depend."""
        ...

    @property
    def stationary(self) -> bool:
        """Whether the delays of all episodes have the same distribution."""
        ...

    def quantile(self, p: float) -> float:
        """Return the smallest delay j with P(tau <= j) >= `p`, or inf if there is no such j."""
        ...


class EpochStart(NamedTuple):
    """Data from which an updater may choose alpha when an epoch starts."""

    shape: Shape
    episodes: int  # K
    base: str  # name of the base
    delta: float  # failure probability of the base
    mean_delay: float  # observed so far, in episodes; an episode in flight has its current delay
    scale: float = 1.0  # factor of the bonus of the base


class Explorer:
    """Base class of exploration rules for custom updaters; the default never explores."""

    def see(self, step: int, state: int, action: int) -> None:
        """Record an observation of `action` in `state` at `step`; the default does nothing."""

    def marks(self) -> Bools | None:
        """Return a mask of the actions to explore, or None to follow the plan everywhere.

        The mask has shape (H, S, A). Where it has a True entry for a step and state, the action is
        drawn uniformly from the actions with True entries.
        """
        return None


@dataclass(frozen=True)
class Updater:
    """Base class of updaters, the rules that decide when a learner plans.

    A custom updater must define `name`, and `trigger_rule`, `due` or `lazy_alpha`; all other
    methods have defaults. With `trigger_rule`, the condition for planning can be compiled. With
    `due` alone, the condition runs as Python, and simulations need the reference loop. If the
    condition is that of `Lazy`, the updater can define `lazy_alpha` instead; compiled code then
    evaluates the condition.

    Examples
    --------
    >>> class EveryTenth(Updater):
    ...     name = "every-tenth"
    ...
    ...     def due(self, arrival):
    ...         return arrival.since_plan >= 10
    >>> from belated import UCRL2, chain, simulate
    >>> setting = {"base": UCRL2(scale=0.1), "episodes": 100, "engine": "reference"}
    >>> simulate(chain(3), updater=EveryTenth(), **setting).updates
    9
    """

    name: ClassVar[str] = "updater"
    is_lazy: ClassVar[bool] = False
    """Whether the updater may skip planning although feedback has arrived."""
    multi_instance: ClassVar[bool] = False
    """Whether each episode in flight has a separate instance of the base."""
    needs_start: ClassVar[bool] = False
    """Whether each episode must be started with `Learner.start` before its feedback arrives."""
    every_start: ClassVar[bool] = False
    """Whether the condition is evaluated at the start of every episode, even if no feedback has
    arrived."""
    keeps_policy: ClassVar[bool] = False
    """Whether bases that plan for every episode are rejected, because they would change the policy
    although the updater does not require a plan."""
    min_age: ClassVar[int] = 0
    """Age in episodes at which the feedback of an episode is counted: feedback of episode i is not
    counted before the start of episode i + `min_age`, nor before it arrives. A delay of at least
    `min_age` - 1 has the same effect; 0 and 1 have none."""
    min_age_s: ClassVar[float] = 0.0
    """Online: number of seconds since the opening of an episode before its feedback is counted."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # A subclass that overrides a method does not inherit another form of the same rule.
        for method, equivalent in (
            ("due", "lazy_alpha"),
            ("due", "trigger_rule"),
            ("trigger_rule", "due"),
            ("trigger_rule", "lazy_alpha"),
            ("explorer", "exploration"),
        ):
            if method in cls.__dict__ and equivalent not in cls.__dict__:
                setattr(cls, equivalent, getattr(Updater, equivalent))

    def due(self, arrival: Arrival) -> bool:
        """Return whether a plan is due after `arrival`.

        By default this is the condition of `Lazy` with the alpha that `lazy_alpha` returns, or else
        the result of the trigger.
        """
        alpha = self.lazy_alpha()
        if alpha is not None:
            n, epoch_n = arrival.counts[arrival.rows], arrival.epoch_counts[arrival.rows]
            new = n > epoch_n
            alpha = arrival.alpha if alpha == "auto" else alpha
            return bool((alpha * (n - epoch_n)[new] >= epoch_n[new]).any())
        rule = self.trigger_rule()
        if rule is None:
            raise TypeError(f"{type(self).__name__} needs a method due(arrival) or trigger_rule().")
        return rule.due(arrival)

    def trigger_rule(self) -> "TriggerRule | None":
        """Return the trigger and its constants, or None if the updater has no trigger.

        Compiled code evaluates the trigger instead of calling `due`. The trigger must be equivalent
        to `due`, which calls it by default.
        """
        return None

    def epoch_alpha(self, start: EpochStart) -> float:
        """Return the parameter alpha for an epoch; `due` receives it as `Arrival.alpha`.

        `start` holds the data available at the start of the epoch. The default is infinity.
        """
        return math.inf

    def explorer(self, shape: Shape) -> Explorer | None:
        """Return a new exploration rule in Python for a problem of size `shape`.

        The default is None, for an updater without such a rule.
        """
        return None

    def lazy_alpha(self) -> float | Literal["auto"] | None:
        """Return the alpha with which the updater `Lazy` plans exactly when this updater does.

        With this alpha, the condition of `Lazy` must be equivalent to `due`. "auto" means that each
        epoch has its own alpha, as in `Lazy("auto")`. The default is None: there is no such alpha,
        and `due` is called.
        """
        return None

    def exploration(self, shape: Shape, epsilon: float) -> Exploration:
        """Return a new exploration rule that compiled code evaluates.

        The default counts no visits.

        Parameters
        ----------
        shape : Shape
            Sizes (S, A, H) of the problem.
        epsilon : float
            Probability with which the base draws an action uniformly at each step.

        Returns
        -------
        Exploration
            The rule, whose counts are zero.
        """
        explore = np.zeros(shape.table if epsilon > 0 else (0, 0, 0), np.bool_)
        return Exploration(np.zeros((0, 0, 0), np.int64), explore, 0.0, False, False, epsilon)

    def for_simulation(self, law: DelayLaw) -> Self:
        """Return the updater to use in a simulation whose delay law is `law`.

        By default the updater itself is returned. Raises ValueError if the updater cannot be used
        with this law, or needs the time of day.
        """
        return self

    def for_learner(self, episodes: int) -> Self:
        """Return the updater to use in a learner of `episodes` episodes.

        By default the updater itself is returned. Raises ValueError if an option has no value.
        """
        return self

    def next_plan_s(self, planned_s: float) -> float | None:
        """Return the time of the next scheduled plan, in seconds since 1970 (UTC).

        `planned_s` is the time of the last plan. The default is None: no plan is due because of the
        time alone.
        """
        return None

    def expected_plans(self, episodes: int, rows: int) -> float:
        """Return a rough estimate of the number of plans of a run.

        `episodes` is the number of episodes of the run, and `rows` the number of rows of the counts
        N'. Sweeps estimate computing times from it. By default a plan is due after every arrival of
        feedback.
        """
        return PLANS_PER_EPISODE * episodes

    def with_longest_delay(self, delay: float) -> Self:
        """Return the updater to use in a simulation whose longest delay is `delay`, in episodes.

        By default the updater itself is returned.
        """
        return self
