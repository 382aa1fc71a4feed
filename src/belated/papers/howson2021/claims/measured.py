"""Claims about quantities that results of a sweep do not contain; see `measurements`."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from belated.papers.howson2021.claims.verdict import Detail, Numbers, Tested, claim, is_above
from belated.papers.howson2021.evidence import Evidence, make_condition
from belated.papers.statistics import (
    MIN_SEEDS,
    bootstrap_interval,
    mean_interval,
    resample_means,
    slope_weights,
)

MOST: Final = 0.5
"""Share of the information of an epoch above which it counts as most of it."""

EXPONENT: Final = "exponent: slope of log2(mean episodes) against S"
"""Label of the fitted exponent of the time that exploration takes."""


@claim(
    "information-before-update",
    "With α = 1, most information within an epoch is received before an update.",
    "Section 5",
)
def _information_is_received_before_update(evidence: Evidence) -> Iterator[Tested]:
    """For lazy updating with α = 1 in one setting, more than half of all episodes have a short
    delay, as defined in Section 4.2: their feedback arrives in the epoch in which they are played,
    k + τ_k < k_{j+1}. The last epoch, which no update ends, is omitted. Also reported: the share of
    epochs of which more than half is received; in this share, short epochs count as much as long
    ones."""
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
            numbers = (
                ("share of episodes received", share),
                ("share of epochs of which most is received", mean_interval(epochs)),
            )
            test = is_above(share, MOST, received.size)
            yield Tested(str(make_condition(*setting)), test, numbers)


def _exponent(details: Sequence[Detail]) -> Numbers:
    """Return the fitted exponent, which all `details` have in common."""
    return tuple(number for number in details[0].numbers if number[0] == EXPONENT)


@claim(
    "inefficient-exploration",
    "Any inefficient exploration strategy takes at least 2^S episodes to learn the optimal policy.",
    "Section 5",
    summary=_exponent,
)
def _exploration_takes_long(evidence: Evidence) -> Iterator[Tested]:
    """Epsilon-greedy with ε = 0.1 and random ties, without delay, needs on average more than 2^S
    episodes on the chain of S states until its policies keep at least half of the optimal value.
    Also reported: the exponent, the slope of the logarithm to base 2 of the mean number of episodes
    against S, which is 1 if the number is proportional to 2^S, and the number of episodes until the
    first policy with half of the optimal value, which random ties can give by chance."""
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
        numbers = (
            ("mean episodes / 2^S", ratio),
            ("mean episodes until the first good policy / 2^S", first),
            (EXPONENT, exponent),
        )
        yield Tested(f"S = {states}", is_above(ratio, 1, own.size), numbers)
