"""Status of a learner: the number of episodes in flight, and the share of visits in flight."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from belated.episode import Floats, Ints
from belated.learner.feedback import PendingEpisode
from belated.learner.problem import LearningProblem
from belated.survival.estimate import DelayEstimate
from belated.theory.lemmas import psi


@dataclass(frozen=True, eq=False)
class Status:
    """Numbers of episodes started, observed and in flight, and the share of visits in flight.

    Examples
    --------
    >>> from belated import Learner, Shape
    >>> parts = {"base": "ucrl2", "updater": "active", "rewards": "unknown"}
    >>> learner = Learner(Shape(states=3, actions=2, horizon=2), **parts, episodes=100)
    >>> _ = learner.start(1), learner.start(2)
    >>> learner.status.begun, learner.status.missing
    (2, 2)
    """

    begun: int
    """Number of episodes started."""
    observed: int
    """Number of episodes whose feedback has been counted completely: when it has arrived and, with
    the updater `Matured`, its episode is old enough."""
    missing: int
    """S_k, the number of episodes whose feedback has not been counted completely."""
    mean_delay: float
    """Mean delay so far, in episodes. The delay of an episode in flight is taken as the number of
    episodes started after it, so that the mean is too low while episodes are in flight; `lateness`
    estimates the delay without this bias."""
    psi: float
    """Upper bound of all S_k with high probability, computed from `mean_delay` (Lemma 1)."""
    in_flight: Floats = field(repr=False)
    """For each triple, the fraction N'' / N of its visits whose feedback is missing; shape
    (stages, S, A)."""
    lateness: DelayEstimate = field(repr=False)
    """Kaplan-Meier estimate of the delay in episodes, of the episodes that were started: median,
    share not back at an age, share that never returns. Lost episodes count as not back."""
    exact: bool = True
    """Whether `in_flight` is exact. If False, it is an upper bound: an episode in flight whose path
    is unknown is assumed to visit every triple."""


def status_of(
    problem: LearningProblem,
    pending: Iterable[PendingEpisode],
    counts: Ints,
    *,
    begun: int,
    observed: int,
    mean_delay: float,
    lateness: DelayEstimate,
    held: Ints,
    held_complete: int,
) -> Status:
    """Return the status of a learner.

    Parameters
    ----------
    problem : LearningProblem
        Problem of the learner.
    pending : iterable of PendingEpisode
        Records of the episodes in flight.
    counts : Ints
        (rows) For each row, the number of visits whose feedback has arrived.
    begun : int
        Number of episodes started.
    observed : int
        Number of episodes whose feedback has arrived completely.
    mean_delay : float
        Mean delay so far, in episodes.
    lateness : DelayEstimate
        Estimated delay in episodes.
    held : Ints
        Rows of the feedback that has arrived, but is not counted yet.
    held_complete : int
        Number of episodes that are complete but for the counting of this feedback.

    Returns
    -------
    Status
        Current status.
    """
    shape, stages = problem.shape, problem.count_stages
    known = np.bincount(held, minlength=counts.size)  # visits in flight whose triple is known
    missing, unknown = held_complete, 0
    for episode in pending:
        missing += 1
        if episode.path is None:
            unknown += 1
            continue
        rows = episode.path.rows(shape, stages)
        waits = [not episode.received >> step & 1 for step in range(rows.size)]
        known += np.bincount(rows[waits], minlength=counts.size)
    # with pooled counts an episode may visit a triple at every step at which it is playable
    possible = shape.playable.sum(axis=0) if stages == 1 else shape.playable
    in_flight = known + unknown * possible.ravel()
    return Status(
        begun=begun,
        observed=observed,
        missing=missing,
        mean_delay=mean_delay,
        psi=psi(mean_delay, problem.episodes, problem.algorithm.failure_probability),
        in_flight=share_in_flight(in_flight, counts).reshape(stages, shape.states, shape.actions),
        lateness=lateness,
        exact=unknown == 0,
    )


def share_in_flight(in_flight: Ints, arrived: Ints) -> Floats:
    """Return, for each row, the fraction N'' / N of its visits whose feedback is missing.

    For each row, `in_flight` holds N'', the number of visits in flight, and `arrived` holds the
    number of visits whose feedback has arrived. The fraction is 0 for a row without visits.

    >>> share_in_flight(np.array([1, 0, 0]), np.array([3, 2, 0])).tolist()
    [0.25, 0.0, 0.0]
    """
    total = in_flight + arrived
    share: Floats = np.divide(in_flight, total, out=np.zeros(total.size), where=total > 0)
    return share
