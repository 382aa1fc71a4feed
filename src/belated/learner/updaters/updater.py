"""Base class of the updaters: rules that decide when a learner plans."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Self

from belated.episode import Bools, Ints, Shape
from belated.learner.exploration import Exploration


class Arrival(NamedTuple):
    """Data on which an updater decides, after new feedback has been counted.

    Rows are (stage, state, action) triples, flattened as (stage * S + state) * A + action. Where
    only rewards are late, the counts are those of rewards.
    """

    counts: Ints  # (rows) N' now
    epoch_counts: Ints  # (rows) N' at the last plan
    rows: Ints  # rows of the new feedback, in order of arrival; a row may occur twice
    arrived: int  # pieces of feedback (episodes or steps) that are new
    since_plan: int  # pieces of feedback since the last plan, including the new ones
    alpha: float = math.inf  # result of `Updater.epoch_alpha` for this epoch


class EpochStart(NamedTuple):
    """Data available when an epoch starts."""

    shape: Shape
    episodes: int  # K
    base: str  # name of the base
    delta: float
    mean_delay: float  # observed so far; an episode in flight counts with its delay so far


class Explorer:
    """Exploration rule of a user's own updater; this one never explores."""

    def see(self, step: int, state: int, action: int) -> None:
        """Count an observed `step`, with its `state` and `action`."""

    def marks(self) -> Bools | None:
        """Return the actions to draw from, (H, S, A), or None to follow the plan everywhere."""
        return None


@dataclass(frozen=True)
class Updater:
    """Rule that decides when to plan.

    A user's own updater needs a `name` and a method `due`; everything else has a default. An
    updater whose condition is that of `Lazy` declares so by `lazy_alpha` and then runs compiled.
    """

    name: ClassVar[str] = "updater"
    is_lazy: ClassVar[bool] = False
    """Whether it plans less often than feedback arrives, by design."""
    multi_instance: ClassVar[bool] = False
    """Whether each episode in flight has an instance of the base to itself."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # A subclass that overrides the Python method does not inherit its compiled equivalent.
        for method, equivalent in (("due", "lazy_alpha"), ("explorer", "exploration")):
            if method in cls.__dict__ and equivalent not in cls.__dict__:
                setattr(cls, equivalent, getattr(Updater, equivalent))

    def due(self, arrival: Arrival) -> bool:
        """Return whether a plan is due after `arrival`."""
        raise TypeError(f"{type(self).__name__} needs a method due(arrival).")

    def epoch_alpha(self, start: EpochStart) -> float:
        """Return a number for the epoch that begins at `start`, passed on as `Arrival.alpha`."""
        return math.inf

    def explorer(self, shape: Shape) -> Explorer | None:
        """Return an exploration rule for a new learner of size `shape`, or None."""
        return None

    def lazy_alpha(self) -> float | Literal["auto"] | None:
        """Return the alpha of the equivalent lazy condition, or None if `due` must be called."""
        return None

    def exploration(self, shape: Shape, epsilon: float) -> Exploration | None:
        """Return the compiled exploration rule for a new learner, or None.

        Parameters
        ----------
        shape : Shape
            Size of the problem.
        epsilon : float
            Exploration rate of the base.

        Returns
        -------
        Exploration or None
            Rule without observations.
        """
        return None

    def with_longest_delay(self, delay: float) -> Self:
        """Return the updater for a simulation in which `delay` is the longest delay drawn."""
        return self
