"""What the paper claims, each claim judged by the runs alone."""

from typing import Final

from belated.papers.howson2021.claims.delays import (
    gradient_falls,
    lazy_1_most_robust,
    light_laws_cost_less,
    linear_in_delay,
)
from belated.papers.howson2021.claims.learners import (
    active_best,
    beat_explicit,
    beat_explicit_more_when_delays_vary,
    closer_to_active,
    converged_first,
    lazy_100_near_active,
    lazy_comparable,
)
from belated.papers.howson2021.claims.lemmas import (
    epochs_corrected,
    epochs_printed,
    missing_within_psi,
)
from belated.papers.howson2021.claims.verdict import Claim, Detail, Verdict
from belated.papers.howson2021.evidence import Curves, Evidence
from belated.sweep.store import Columns

__all__ = ["CLAIMS", "Claim", "Detail", "Verdict", "all_claims"]

CLAIMS: Final[tuple[Claim, ...]] = (
    active_best,
    lazy_100_near_active,
    lazy_comparable,
    closer_to_active,
    beat_explicit,
    beat_explicit_more_when_delays_vary,
    converged_first,
    linear_in_delay,
    light_laws_cost_less,
    gradient_falls,
    lazy_1_most_robust,
    missing_within_psi,
    epochs_corrected,
    epochs_printed,
)


def all_claims(runs: Columns, curves: Curves) -> list[Verdict]:
    """The verdict on every claim; `curves` gives the columns of one setting by its id."""
    evidence = Evidence(runs, curves)
    return [claim(evidence) for claim in CLAIMS]
