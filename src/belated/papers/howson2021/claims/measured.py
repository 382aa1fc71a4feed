"""Claims about quantities that the results of a sweep do not contain.

The quantities are measured in additional runs by `belated.papers.howson2021.measurements`.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from belated.papers.howson2021.claims.verdict import Detail, Numbers, Tested, claim
from belated.papers.howson2021.evidence import Evidence, make_condition
from belated.papers.statistics import (
    MIN_SEEDS,
    bootstrap_interval,
    is_above,
    mean_interval,
    resample_means,
    slope_weights,
)

MOST: Final = 0.5
"""Threshold for the claim that most information is received before an update.

The fraction of episodes whose feedback arrives in the epoch in which they are played must be above
this value.
"""

EXPONENT: Final = "exponent: slope of log2(mean episodes) against S"
"""Label of the fitted exponent: the slope of log2 of the mean number of episodes that
epsilon-greedy needs to learn, against the number of states S."""


@claim(
    "information-before-update",
    "With α = 1, most information within an epoch is received before an update.",
    "Section 5",
)
def _information_is_received_before_update(evidence: Evidence) -> Iterator[Tested]:
    """The claim holds in a setting if, with lazy updating and α = 1, more than half of all episodes
    have a short delay. As in Section 4.2, the delay of an episode k of epoch j is short if its
    feedback arrives in the same epoch, k + τ_k < k_{j+1}. The last epoch, which no update ends, is
    omitted. Also reported: the share of epochs in which more than half of the episodes have a short
    delay. In this share, short and long epochs have the same weight."""
    if evidence.measurements is None:
        return
    table = evidence.measurements.epochs
    names = ("states", "law", "mean_delay")
    settings = list(zip(*(table[name].tolist() for name in names), strict=True))
    for setting in dict.fromkeys(settings):
        rows = np.array([one == setting for one in settings])
        received, epochs = (table[name][rows] for name in ("received", "mostly_received"))
        if received.size >= MIN_SEEDS:
            share = mean_interval(received)
            numbers = {
                "share of episodes received": share,
                "share of epochs of which most is received": mean_interval(epochs),
            }
            test = is_above(share, MOST, received.size)
            yield Tested(str(make_condition(*setting)), test, numbers)


def _exponent(details: Sequence[Detail]) -> Numbers:
    """Return the fitted exponent with its label. It is the same in all `details`."""
    return {EXPONENT: details[0].numbers[EXPONENT]}


@claim(
    "inefficient-exploration",
    "Any inefficient exploration strategy takes at least 2^S episodes to learn the optimal policy.",
    "Section 5",
    summary=_exponent,
)
def _exploration_takes_long(evidence: Evidence) -> Iterator[Tested]:
    """The claim holds on the chain of S states if epsilon-greedy, with ε = 0.1, random ties and no
    delay, needs on average more than 2^S episodes until all its later policies have at least half
    of the optimal value. Also reported: (1) the exponent, which is the slope of log2 of the mean
    number of episodes against S, and is 1 if the number is proportional to 2^S; (2) the number of
    episodes until the first policy with at least half of the optimal value, which can be the result
    of random ties."""
    if evidence.measurements is None:
        return
    table = evidence.measurements.exploration
    chains = np.unique(table["states"])
    rows = [np.flatnonzero(table["states"] == states) for states in chains]
    if chains.size < 2 or min(map(len, rows)) < MIN_SEEDS:
        return
    episodes = np.column_stack([table["learnt_at"][own] for own in rows])  # a row for each seed
    weights = slope_weights(chains)
    exponent = bootstrap_interval(
        float(np.log2(episodes.mean(axis=0)) @ weights),
        np.log2(resample_means(episodes)) @ weights,
        len(episodes),
    )
    for states, own in zip(chains.tolist(), rows, strict=True):
        ratio, first = (
            mean_interval(table[name][own] / 2**states) for name in ("learnt_at", "first_good")
        )
        numbers = {
            "mean episodes / 2^S": ratio,
            "mean episodes until the first good policy / 2^S": first,
            EXPONENT: exponent,
        }
        yield Tested(f"S = {states}", is_above(ratio, 1, own.size), numbers)
