"""Claims about the upper bounds of Lemmas 1 and 4, tested in all runs."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from scipy import special

from belated.episode import Floats, Shape
from belated.papers.howson2021.claims.verdict import Detail, Numbers, Tested, claim
from belated.papers.howson2021.evidence import Evidence
from belated.papers.howson2021.grid import LAZY_UPDATERS, LEARNERS
from belated.papers.statistics import MIN_SEEDS, PValues, is_below, mean_interval
from belated.sweep.bands import Columns
from belated.theory import epoch_bound, psi

DELTA: Final = 0.05
"""Probability delta that a regret bound fails, from which the bounds in the claims are computed."""

PSI_SHARE: Final = 1 / 5
"""Fraction of `DELTA` that the paper allots to psi, the bound on the episodes in flight."""


def _largest_share(details: Sequence[Detail]) -> Numbers:
    """Return the largest ratio of a value to its upper bound over all settings, with a label.

    The results in each setting, `details`, contain two numbers: a value and its upper bound.
    Settings with the verdict "says nothing", in which no value can exceed the bound, are ignored
    unless all settings have this verdict.
    """
    tested = [one for one in details if one.verdict != "says nothing"] or details
    pairs = [tuple(detail.numbers.values()) for detail in tested]
    return {"largest share of the bound": max(value / bound for value, bound in pairs)}


@claim(
    "missing-within-psi",
    "At most ψ = E[τ] + x + sqrt(2 E[τ] x) episodes are ever in flight, x = log(Kπ/6δ').",
    "Lemma 1",
    summary=_largest_share,
)
def _missing_within_psi(evidence: Evidence) -> Iterator[Tested]:
    """The claim holds in a setting if the maximum number of episodes in flight, max_k S_k, is at
    most ψ with probability 1 - δ', where δ' = 0.01. It is confirmed if an upper confidence bound on
    the 99 % quantile of max_k S_k, for a normal distribution, is below ψ. It is refuted if more
    runs exceed ψ than a probability of 0.01 explains. Runs of several learners with the same seed
    have the same delays and are counted as one run."""
    for condition in evidence.conditions():
        groups = [group for (where, _), group in evidence.groups.items() if where == condition]
        bound = psi(condition.mean, int(groups[0]["episodes"][0]), DELTA)
        by_seed: dict[int, float] = {}
        for group in groups:
            for seed, missing in zip(group["seed"].tolist(), group["max_missing"], strict=True):
                by_seed[seed] = max(float(missing), by_seed.get(seed, 0.0))
        values = np.array(list(by_seed.values()))
        numbers = {"largest max_k S_k": int(values.max()), "ψ": bound}
        yield Tested(str(condition), _quantile_test(values, bound, DELTA * PSI_SHARE), numbers)


def _quantile_test(values: Floats, bound: float, probability: float) -> PValues:
    """Test the claim that a random number exceeds `bound` at most with the given `probability`.

    `values` are independent draws of the random number. The test that confirms the claim uses a
    one-sided tolerance interval of the normal distribution. The test that refutes the claim is a
    binomial test of the number of draws above `bound`.
    """
    n, exceeding = values.size, int((values > bound).sum())
    refute = float(special.bdtrc(exceeding - 1, n, probability)) if exceeding else 1.0
    deviation = float(values.std(ddof=1)) if n > 1 else 0.0
    if n < MIN_SEEDS or exceeding:
        return PValues(1.0, refute)
    if deviation == 0:
        return PValues(0.0, refute)
    distance = np.sqrt(n) * (bound - values.mean()) / deviation
    noncentrality = special.ndtri(1 - probability) * np.sqrt(n)
    return PValues(float(1 - special.nctdtr(n - 1, noncentrality, distance)), refute)


@claim(
    "epochs-within-bound",
    "J <= HSA log(αK/SA + 1) / log(1 + 1/α), corrected for the first epoch of each triple.",
    "Lemma 4",
    summary=_largest_share,
)
def _epochs_within_corrected_bound(evidence: Evidence) -> Iterator[Tested]:
    """The claim holds in a setting of lazy updating if the number of epochs J is within the
    corrected bound: J <= min(K, 1 + HSA (1 + log+(K/SA) / log(1 + 1/α))). If counts are pooled, the
    bound for the SA pairs and their HK visits is used. The claim is refuted if J exceeds the bound
    in any run. It is confirmed if J exceeds the bound in no run and the confidence interval of the
    mean of J is below the bound. A bound of K or more says nothing."""
    return _epochs(evidence, printed=False)


@claim(
    "epochs-within-printed-bound",
    "J <= HSA log(αK/SA + 1) / log(1 + 1/α), as printed.",
    "Lemma 4",
    summary=_largest_share,
)
def _epochs_within_printed_bound(evidence: Evidence) -> Iterator[Tested]:
    """The claim holds in a setting of lazy updating if the number of epochs J is within the printed
    bound: J <= HSA log(αK/SA + 1) / log(1 + 1/α). If counts are pooled, the bound for the SA pairs
    and their HK visits is used. The claim is refuted if J exceeds the bound in any run. It is
    confirmed if J exceeds the bound in no run and the confidence interval of the mean of J is below
    the bound. A bound of K or more says nothing."""
    return _epochs(evidence, printed=True)


def _epochs(evidence: Evidence, *, printed: bool) -> Iterator[Tested]:
    """Test for each condition and α whether J, the number of epochs, is within its bound.

    If `printed`, the bound is the one printed in the paper, otherwise the corrected bound.
    """
    for condition in evidence.conditions():
        for updater in LAZY_UPDATERS:
            group = evidence.groups.get((condition, updater))
            if group is None:
                continue
            bound = bound_epochs(group, float(updater.partition(":")[2]), printed=printed)
            epochs = group["epochs"].astype(float)
            test = None
            if bound < int(group["episodes"][0]):
                exceeded = bool((epochs > bound).any())
                confirm = 1.0
                if not exceeded and epochs.size >= MIN_SEEDS:
                    confirm = is_below(mean_interval(epochs), bound, epochs.size).confirm
                test = PValues(confirm, float(not exceeded))
            numbers = {"largest J": int(epochs.max()), "bound": bound}
            yield Tested(f"{condition}, {LEARNERS[updater]}", test, numbers)


def bound_epochs(group: Columns, alpha: float, *, printed: bool) -> float:
    """Return the bound on the number of epochs of lazy updating in a group of runs.

    Pooled counts have SA rows instead of HSA rows, and the HK visits of a run are distributed over
    them. Therefore the bound of a problem with horizon 1 and HK episodes is used for pooled counts.

    Parameters
    ----------
    group : Columns
        Runs of one setting.
    alpha : float
        Parameter of lazy updating.
    printed : bool
        Whether to return the bound as printed in the paper instead of the corrected bound.

    Returns
    -------
    float
        The bound.
    """
    S, A, H = (int(group[name][0]) for name in ("states", "actions", "horizon"))
    K = int(group["episodes"][0])
    if str(group["stages"][0]) != "pooled":
        return epoch_bound(Shape(S, A, H), K, alpha, printed=printed)
    bound = epoch_bound(Shape(S, A, 1), H * K, alpha, printed=printed)
    return bound if printed else min(float(K), bound)
