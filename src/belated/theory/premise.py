"""The premise of Lemma 5 in the proof of Theorem 2, for the epochs of given paths and delays.

Lemma 5 requires n_j <= N'_{k_j} / alpha for every triple (h, s, a) and every epoch j. n_j is the
number of visits of the triple in those episodes of epoch j that have a short delay, and N'_{k_j} is
the number of its observed visits at the start of the epoch. All other episodes have a regret of at
most H each. The paper and this package define short delays differently.

- As printed in the paper, the first episode of an epoch is left out, and the delay of episode k is
  short if the feedback is usable when the next epoch starts, k + tau_k < k_{j+1}. If several items
  of feedback arrive together, n_j can exceed N'_{k_j} / alpha, because the count may have grown by
  more than N'_{k_j} / alpha when the epoch ends.
- As repaired in this package, the last episode of an epoch is left out, and the delay of episode k
  is short if k + tau_k < k_{j+1} - 1. The feedback is then usable at the start of the last episode
  of the epoch. At that time no count had grown enough to end the epoch.

In both versions, at most one episode per epoch is left out, and at most psi episodes per epoch have
a long delay. Their regret over all J epochs is at most H J (1 + psi).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from belated.episode import Bools, Ints, Shape
from belated.theory.paths import arrivals_of, triples_of
from belated.theory.validation import check_alpha


class EpochCounts(NamedTuple):
    """Visits and counts of each triple (h, s, a) in each epoch j = 1, ..., J of lazy updating.

    They are the quantities in the premise of Lemma 5, n_j <= N'_{k_j} / alpha.
    """

    starts: Ints
    """First episode k_j of each epoch; shape (J,)."""
    short: Ints
    """n_j, the number of visits of each triple in those episodes of epoch j that have a short
    delay; shape (J, HSA). The docstring of the module defines short delays. It also says which
    episode of each epoch is left out, the first or the last one."""
    before: Ints
    """N'_{k_j}, the number of observed visits of each triple at the start of epoch j; shape
    (J, HSA)."""
    long: Ints
    """For each epoch, the number of its episodes whose delay is not short; shape (J,). One episode
    of each epoch, the first or the last, is not counted. The docstring of the module defines short
    delays, and says which episode is left out."""

    def violations(self, alpha: float) -> Bools:
        """Return for each epoch whether the premise of Lemma 5 is violated; shape (J,).

        It is violated in epoch j if n_j > N'_{k_j} / `alpha` for some triple.
        """
        visited = np.maximum(self.short, 1)  # not 0, whose product with infinity is undefined
        exceeds = (self.short > 0) & (check_alpha(alpha) * visited > self.before)
        return np.asarray(exceeds.any(axis=1))


def epoch_counts(
    shape: Shape,
    *,
    states: ArrayLike,
    actions: ArrayLike,
    delays: Sequence[int] | Ints,
    alpha: float,
    printed: bool = False,
) -> EpochCounts:
    """Return the epochs of lazy updating and the counts in the premise of Lemma 5.

    Parameters
    ----------
    shape : Shape
        Sizes (S, A, H) of the problem.
    states : array of int, shape (K, H) or (K, H + 1)
        States of each episode; the state after the last step is ignored.
    actions : array of int, shape (K, H)
        Actions of each episode.
    delays : sequence of int
        Delays tau_1, ..., tau_K in episodes, each at least 0.
    alpha : float
        Parameter alpha of lazy updating, at least 1.
    printed : bool
        Whether short delays are defined as printed in the paper instead of as repaired.

    Returns
    -------
    EpochCounts
        Starts of the epochs, and their counts. The last epoch ends with episode K.

    Examples
    --------
    Feedback of one triple arrives after every fourth episode. The second epoch consists of the
    episodes 5 to 8 and starts with a count of 4. As printed, episode 5 is left out and the other
    three have a short delay: n_j = 3 exceeds 4 / alpha for alpha = 2. As repaired, no episode has a
    short delay, and n_j = 0.

    >>> one, path = Shape(1, 1, 1), [[0]] * 12
    >>> bunched = {"states": path, "actions": path, "delays": [3, 2, 1, 0] * 3, "alpha": 2}
    >>> printed = epoch_counts(one, **bunched, printed=True)
    >>> printed.starts, printed.short[1], printed.before[1], printed.violations(2)
    (array([1, 5, 9]), array([3]), array([4]), array([ True,  True, False]))
    >>> epoch_counts(one, **bunched).violations(2)
    array([False, False, False])
    """
    check_alpha(alpha)
    tau = np.asarray(delays)
    arrivals = arrivals_of(delays)
    K = len(arrivals)
    triples = triples_of(shape, states, actions, K)
    rows = shape.horizon * shape.states * shape.actions
    # 1. Epochs of Algorithm 2, and the counts at their starts.
    count, before = np.zeros(rows, np.int64), [np.zeros(rows, np.int64)]
    starts = [1]
    for k in range(1, K + 1):
        np.add.at(count, triples[arrivals[k - 1]], 1)
        new = count > before[-1]
        if (alpha * (count - before[-1])[new] >= before[-1][new]).any():
            starts.append(k)
            before.append(count.copy())
    # 2. Episodes of each epoch with short and with long delays.
    ends = [*starts[1:], K + 1]  # k_{j+1}
    usable = np.arange(1, K + 1) + np.minimum(tau, K)  # k + tau_k
    short = np.zeros((len(starts), rows), np.int64)
    long = np.zeros(len(starts), np.int64)
    for j, (start, end) in enumerate(zip(starts, ends, strict=True)):
        played = np.arange(start + 1, end) if printed else np.arange(start, end - 1)
        is_short = usable[played - 1] < (end if printed else end - 1)
        np.add.at(short[j], triples[played[is_short] - 1], 1)
        long[j] = np.count_nonzero(~is_short)
    return EpochCounts(np.array(starts), short, np.array(before), long)
