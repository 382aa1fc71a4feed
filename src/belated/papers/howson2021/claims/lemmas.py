"""Claims of the theory, tested in every run."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from belated.episode import Shape
from belated.papers.howson2021.claims.verdict import Detail, Numbers, claim
from belated.papers.howson2021.evidence import Evidence
from belated.papers.howson2021.grid import LAZY_UPDATERS, LEARNERS
from belated.theory import epoch_bound, psi

DELTA: Final = 0.05
"""Failure probability of the bounds in the experiments."""


def _largest_share(details: Sequence[Detail]) -> Numbers:
    """Return the largest ratio of a value to its upper bound, with a label.

    Each of `details` contains two numbers: a value and its upper bound.
    """
    pairs: list[list[Any]] = [[value for _, value in detail.numbers] for detail in details]
    return (("largest share of the bound", max(value / bound for value, bound in pairs)),)


@claim(
    "missing-within-psi",
    "At most ψ = E[τ] + x + sqrt(2 E[τ] x) episodes are ever in flight, x = log(Kπ/6δ').",
    "Lemma 1",
    summary=_largest_share,
)
def _missing_within_psi(evidence: Evidence) -> Iterator[Detail]:
    """In every run of every learner, the maximum number of episodes in flight, max_k S_k, is at
    most ψ with δ' = 0.01."""
    for condition in evidence.conditions():
        groups = [group for (where, _), group in evidence.groups.items() if where == condition]
        bound = psi(condition.mean, int(groups[0]["episodes"][0]), DELTA)
        largest = max(int(group["max_missing"].max()) for group in groups)
        yield Detail(
            str(condition), largest <= bound, (("largest max_k S_k", largest), ("ψ", bound))
        )


@claim(
    "epochs-within-bound",
    "J <= HSA log(αK/SA + 1) / log(1 + 1/α), corrected for the first epoch of each triple.",
    "Lemma 4",
    summary=_largest_share,
)
def _epochs_within_corrected_bound(evidence: Evidence) -> Iterator[Detail]:
    """In every run of lazy updating with the parameter α of the setting, the number of epochs J is
    within the corrected bound: J <= min(K, 1 + HSA (1 + log+(K/SA) / log(1 + 1/α)))."""
    return _epochs(evidence, printed=False)


@claim(
    "epochs-within-printed-bound",
    "J <= HSA log(αK/SA + 1) / log(1 + 1/α), as printed.",
    "Lemma 4",
    summary=_largest_share,
)
def _epochs_within_printed_bound(evidence: Evidence) -> Iterator[Detail]:
    """In every run of lazy updating with the parameter α of the setting, the number of epochs J is
    within the printed bound: J <= HSA log(αK/SA + 1) / log(1 + 1/α)."""
    return _epochs(evidence, printed=True)


def _epochs(evidence: Evidence, *, printed: bool) -> Iterator[Detail]:
    """Yield for each condition and α whether J, the number of epochs, is within its bound.

    The largest J of all runs is compared. If `printed`, the bound is the one printed in the paper,
    otherwise the corrected bound.
    """
    for condition in evidence.conditions():
        for updater in LAZY_UPDATERS:
            group = evidence.groups.get((condition, updater))
            if group is None:
                continue
            shape = Shape(condition.states, int(group["actions"][0]), int(group["horizon"][0]))
            alpha = float(updater.partition(":")[2])
            bound = epoch_bound(shape, int(group["episodes"][0]), alpha, printed=printed)
            largest = int(group["epochs"].max())
            numbers = (("largest J", largest), ("bound", bound))
            yield Detail(f"{condition}, {LEARNERS[updater]}", largest <= bound, numbers)
