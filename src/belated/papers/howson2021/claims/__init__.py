"""Claims of the paper, each tested against the results of the runs."""

# The order of these imports is the order of the claims.
from belated.papers.howson2021.claims import learners, delays, measured, lemmas  # noqa: F401, I001
from belated.papers.howson2021.claims.verdict import CLAIMS, Verdict
from belated.papers.howson2021.evidence import Evidence
from belated.papers.howson2021.measurements import Measurements
from belated.sweep.bands import Columns, Curves


def all_claims(
    runs: Columns, curves: Curves, measurements: Measurements | None = None
) -> list[Verdict]:
    """Return the verdict on every claim.

    Parameters
    ----------
    runs : Columns
        Final results, with one row per run.
    curves : callable
        Function that maps the id of a setting to a table with the columns seed, episode and regret.
    measurements : Measurements, optional
        Measurements of quantities that `runs` and `curves` do not contain. If None, the claims
        about these quantities are not tested.

    Returns
    -------
    list of Verdict
        Verdicts in the order of the claims.
    """
    evidence = Evidence(runs, curves, measurements=measurements)
    return [claim(evidence) for claim in CLAIMS]
