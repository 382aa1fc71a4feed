"""Status: what is missing now, and how much that is."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from belated.episode import Floats, Ints, Shape
from belated.learner.pending import Pending
from belated.theory.missing import psi


@dataclass(frozen=True, eq=False)
class Status:
    """Episodes in flight, and the share of the information that is in flight with them."""

    begun: int
    observed: int
    """Episodes that have come back whole."""
    missing: int
    """S_k: episodes begun that have not."""
    mean_delay: float
    """Observed so far, in episodes; those in flight count as late as they are already."""
    psi: float
    """What S_k stays below with high probability, if the mean delay is as observed (Lemma 1)."""
    in_flight: Floats = field(repr=False)
    """(stages, S, A): N'' / N, the share of the visits to a triple that is not back yet."""
    exact: bool = True
    """Whether `in_flight` is that share, or the most it can be: every missing episode may have
    come through the triple, where its path is not known."""

    @classmethod
    def of(
        cls,
        *,
        begun: int,
        observed: int,
        pending: Sequence[Pending],
        mean_delay: float,
        episodes: int,
        delta: float,
        counts: Ints,
        shape: Shape,
        stages: int,
    ) -> "Status":
        """Of a learner, from what it knows."""
        known = np.zeros(counts.size, np.int64)  # visits in flight whose triple is known
        unknown = 0
        for one in pending:
            if one.path is None:
                unknown += 1
                continue
            rows = one.path.rows(shape, stages)
            waits = [not one.came >> step & 1 for step in range(rows.size)]
            known += np.bincount(rows[waits], minlength=counts.size)
        # pooled counts may meet a missing episode at every step
        most = known + unknown * (shape.horizon if stages == 1 else 1)
        return cls(
            begun=begun,
            observed=observed,
            missing=len(pending),
            mean_delay=mean_delay,
            psi=psi(mean_delay, episodes, delta),
            in_flight=share(most, counts).reshape(stages, shape.states, shape.actions),
            exact=unknown == 0,
        )


def share(flying: Ints, come: Ints) -> Floats:
    """N'' / N, 0 where there is neither.

    >>> share(np.array([1, 0, 0]), np.array([3, 2, 0])).tolist()
    [0.25, 0.0, 0.0]
    """
    every = flying + come
    out: Floats = np.divide(flying, every, out=np.zeros(every.size), where=every > 0)
    return out
