"""Claims of the paper, each tested against the results of the runs."""

# The order of these imports is the order of the claims.
from belated.papers.howson2021.claims import learners  # noqa: I001
from belated.papers.howson2021.claims import delays, lemmas
from belated.papers.howson2021.claims.verdict import CLAIMS, Claim, Detail, Verdict
from belated.papers.howson2021.evidence import Curves, Evidence
from belated.sweep.store import Columns

__all__ = ["CLAIMS", "Claim", "Detail", "Verdict", "all_claims", "delays", "learners", "lemmas"]


def all_claims(runs: Columns, curves: Curves) -> list[Verdict]:
    """Return the verdict on every claim.

    `runs` has one row per run; `curves` maps the id of a setting to its columns seed, episode and
    regret.
    """
    evidence = Evidence(runs, curves)
    return [claim(evidence) for claim in CLAIMS]
