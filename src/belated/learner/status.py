"""Status of a learner: how many episodes are in flight, and how much information with them."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from belated.episode import Floats, Ints
from belated.learner.feedback import PendingEpisode
from belated.learner.problem import LearningProblem
from belated.theory.missing import psi


@dataclass(frozen=True, eq=False)
class Status:
    """Number of episodes in flight, and the share of all visits that belongs to them."""

    begun: int
    """Episodes started."""
    observed: int
    """Episodes whose feedback has arrived completely."""
    missing: int
    """S_k: episodes started whose feedback has not."""
    mean_delay: float
    """Mean delay so far, in episodes; an episode in flight counts with its delay so far."""
    psi: float
    """Bound on S_k with high probability, if the mean delay is as observed (Lemma 1)."""
    in_flight: Floats = field(repr=False)
    """(stages, S, A): N'' / N, the share of the visits to a triple that is in flight."""
    exact: bool = True
    """Whether `in_flight` is that share; otherwise it is an upper limit, since every episode whose
    path is not known may have visited the triple."""


def status_of(
    problem: LearningProblem,
    pending: Iterable[PendingEpisode],
    counts: Ints,
    *,
    begun: int,
    observed: int,
    mean_delay: float,
) -> Status:
    """Return the status of a learner.

    Parameters
    ----------
    problem : LearningProblem
        Problem of the learner.
    pending : iterable of PendingEpisode
        Episodes in flight.
    counts : Ints
        (rows) Counts of what has arrived.
    begun, observed : int
        Episodes started, and those that have arrived completely.
    mean_delay : float
        Mean delay so far, in episodes.

    Returns
    -------
    Status
        Status at present.
    """
    shape, stages = problem.shape, problem.count_stages
    known = np.zeros(counts.size, np.int64)  # visits in flight whose triple is known
    missing = unknown = 0
    for episode in pending:
        missing += 1
        if episode.path is None:
            unknown += 1
            continue
        rows = episode.path.rows(shape, stages)
        waits = [not episode.received >> step & 1 for step in range(rows.size)]
        known += np.bincount(rows[waits], minlength=counts.size)
    # with pooled counts an episode may visit a triple at every step
    in_flight = known + unknown * (shape.horizon if stages == 1 else 1)
    return Status(
        begun=begun,
        observed=observed,
        missing=missing,
        mean_delay=mean_delay,
        psi=psi(mean_delay, problem.episodes, problem.algorithm.failure_probability),
        in_flight=share_in_flight(in_flight, counts).reshape(stages, shape.states, shape.actions),
        exact=unknown == 0,
    )


def share_in_flight(in_flight: Ints, arrived: Ints) -> Floats:
    """Return N'' / N for visits `in_flight` and `arrived`, 0 where there are neither.

    >>> share_in_flight(np.array([1, 0, 0]), np.array([3, 2, 0])).tolist()
    [0.25, 0.0, 0.0]
    """
    total = in_flight + arrived
    share: Floats = np.divide(in_flight, total, out=np.zeros(total.size), where=total > 0)
    return share
