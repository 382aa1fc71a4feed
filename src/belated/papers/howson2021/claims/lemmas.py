"""Claims of the theory that every run can be held to."""

from collections.abc import Sequence
from typing import Final

from belated.episode import Shape
from belated.papers.howson2021.claims.learners import LAZY, OURS
from belated.papers.howson2021.claims.verdict import Detail, Finding, Numbers, stated
from belated.papers.howson2021.evidence import Evidence
from belated.papers.howson2021.grid import LEARNERS
from belated.theory import epoch_bound, psi

DELTA: Final = 0.05
"""The bounds of the experiments hold with probability 0.95."""


@stated(
    "missing-within-psi",
    "At most ψ = E[τ] + x + sqrt(2 E[τ] x) episodes are ever in flight, x = log(Kπ/6δ').",
    "Lemma 1",
)
def missing_within_psi(evidence: Evidence) -> Finding:
    """In every run of every learner, max_k S_k is at most ψ with δ' = 0.01."""
    details, pairs = [], []
    for place in evidence.places():
        groups = [
            evidence.groups[place, learner]
            for learner in (*OURS, "explicit")
            if (place, learner) in evidence.groups
        ]
        bound = psi(place.mean, groups[0].episodes, DELTA)
        most = max(int(group["max_missing"].max()) for group in groups)
        pairs.append((most, bound))
        numbers = (("largest max_k S_k", most), ("ψ", bound))
        details.append(Detail(str(place), most <= bound, numbers))
    return Finding(tuple(details), nearest(pairs))


@stated(
    "epochs-within-bound",
    "J <= HSA log(αK/SA + 1) / log(1 + 1/α), corrected for the first epoch of each triple.",
    "Lemma 4",
)
def epochs_corrected(evidence: Evidence) -> Finding:
    """For one α, in every run the number of epochs of lazy updating is within the corrected bound,
    J <= min(K, 1 + HSA (1 + log+(K/SA) / log(1 + 1/α)))."""
    return epochs(evidence, printed=False)


@stated(
    "epochs-within-printed-bound",
    "J <= HSA log(αK/SA + 1) / log(1 + 1/α), as printed.",
    "Lemma 4",
)
def epochs_printed(evidence: Evidence) -> Finding:
    """For one α, in every run the number of epochs of lazy updating is within the printed
    bound."""
    return epochs(evidence, printed=True)


def epochs(evidence: Evidence, *, printed: bool) -> Finding:
    """Whether J is within a bound, for each place and α."""
    details, pairs = [], []
    for place in evidence.places():
        for learner in LAZY:
            group = evidence.groups.get((place, learner))
            if group is None:
                continue
            shape = Shape(place.states, int(group["actions"][0]), int(group["horizon"][0]))
            alpha = float(learner.partition(":")[2])
            bound = epoch_bound(shape, group.episodes, alpha, printed=printed)
            most = int(group["epochs"].max())
            pairs.append((most, bound))
            numbers = (("largest J", most), ("bound", bound))
            details.append(Detail(f"{place}, {LEARNERS[learner]}", most <= bound, numbers))
    return Finding(tuple(details), nearest(pairs))


def nearest(pairs: Sequence[tuple[float, float]]) -> Numbers:
    """How close a run comes to its bound, of pairs of value and bound."""
    shares = [value / bound for value, bound in pairs]
    return (("largest share of the bound", max(shares)),) if shares else ()
