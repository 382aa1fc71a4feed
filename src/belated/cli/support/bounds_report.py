"""Tables and sentences of `belated bounds`."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from belated.cli.support.tables import build_table

if TYPE_CHECKING:
    from rich.table import Table

    from belated.episode import Shape
    from belated.theory.comparison import Guarantee
    from belated.theory.regret import Regret

MAX_EPISODES: Final = 10**18
"""Maximum number of episodes that the functions of `belated.theory` support."""


@dataclass(frozen=True)
class BoundsQuery:
    """Problem size and delay for which regret bounds are computed."""

    shape: "Shape"
    episodes: int
    mean_delay: float
    """Expected delay in episodes."""
    alpha: float
    """Parameter alpha of lazy updating, at least 1."""
    delta: float
    """Probability delta in the formulas of the bounds."""
    longest_delay: float | None
    """Maximum delay tau_max in episodes; None to use the mean delay in its place."""

    @property
    def arguments(self) -> dict[str, Any]:
        """Keyword arguments shared by all functions of `belated.theory` that compute bounds."""
        return {"episodes": self.episodes, "mean_delay": self.mean_delay, "delta": self.delta}

    def compare(self) -> "Sequence[Guarantee]":
        """Return the regret order and the regret bound of each base with each updater."""
        from belated.theory.comparison import compare

        return compare(
            self.shape, **self.arguments, alpha=self.alpha, longest_delay=self.longest_delay
        )

    def best_alphas(self) -> dict[str, float]:
        """Return a dict from the name of each base to the alpha that minimizes its bound.

        An alpha may be infinite.
        """
        from belated.theory import best_alpha
        from belated.theory.bonus import BASES

        return {base: best_alpha(self.shape, base=base, **self.arguments) for base in BASES}

    @property
    def command(self) -> str:
        """Command line that computes the same bounds."""
        H, S, A = self.shape.table
        words = (
            f"belated bounds --states {S} --actions {A} --horizon {H} --episodes {self.episodes}"
            f" --mean-delay {self.mean_delay:g} --alpha {self.alpha:g} --delta {self.delta:g}"
        )
        if self.longest_delay is not None:
            words += f" --longest-delay {self.longest_delay:g}"
        return words


def build_regret_table(
    kind: Literal["order", "bound"], rows: "Sequence[Guarantee]", alpha: float
) -> "Table":
    """Return a table of regret orders or of regret bounds.

    Parameters
    ----------
    kind : str
        Content of the table, "order" or "bound". In a table of bounds, rows without a bound are
        omitted.
    rows : sequence of Guarantee
        Order and bound of each base with each updater.
    alpha : float
        Parameter alpha of lazy updating, at least 1.

    Returns
    -------
    Table
        The table, with a separating line below the rows of each base.
    """
    columns = ("leading", "delay", "total", "delay < leading")
    table = build_table([f"{kind.capitalize()}s", ""], columns)
    for row in rows:
        regret: Regret | None = getattr(row, kind)
        fades: int | None = getattr(row, f"{kind}_fades")
        if regret is None:
            continue
        mark = "*" if regret.vacuous and not regret.order else ""
        table.add_row(
            row.base or "any",
            format_updater(row, alpha),
            f"{regret.leading:.2g}",
            f"{regret.delay:.2g}",
            f"{regret.total:.2g}{mark}",
            format_crossover(fades),
            end_section=row.updating == ("multi" if kind == "order" else "lazy"),
        )
    return table


def format_crossover(fades: int | None) -> str:
    """Return a text that says for which K the delay term is below the leading term.

    K is the number of episodes. `fades` is the smallest K from which on the delay term is below the
    leading term, or None if there is no such K.

    >>> format_crossover(91_000), format_crossover(1), format_crossover(None)
    ('from K = 9.1e+04', 'at every K', 'at no K < 1e+18')
    """
    if fades is None:
        return f"at no K < {MAX_EPISODES:.0e}"
    return "at every K" if fades == 1 else f"from K = {fades:.2g}"


def format_updater(row: "Guarantee", alpha: float | None = None) -> str:
    """Return the name of the updater of `row`, for people.

    For lazy updating, the name includes `alpha`, unless `alpha` is None.
    """
    if row.updating == "lazy" and alpha is not None:
        return f"lazy, alpha {alpha:g}"
    names = {"multi": "multi-instance", "explicit": "explicit exploration"}
    return names.get(row.updating, row.updating)


def format_conclusions(query: BoundsQuery, rows: "Sequence[Guarantee]") -> list[str]:
    """Return sentences that summarise the orders and bounds in `rows`, computed for `query`."""
    from belated.theory import lower_bound, psi

    missing = psi(query.mean_delay, query.episodes, query.delta)
    least = lower_bound(query.shape, episodes=query.episodes).total
    confidence = 100 * (1 - query.delta / 5)
    sentences = [
        f"At most {missing:,.0f} episodes are missing at a time, "
        f"with probability {confidence:g}% (psi).",
        _compare_terms(rows),
        _smallest_totals(query, rows),
        f"Lower bound: on some problem of this size, the regret of every learner is at least of "
        f"the order {least:.2g} (H sqrt(SAT)).",
        _best_alphas(query),
        _vacuous_totals(query, rows),
    ]
    if any(row.bound_fades == 1 for row in rows if row.bound and row.bound.delay > 0):
        sentences.append(
            "A delay term that is smaller at every K does not mean that delay costs nothing: the "
            "bound without delay is loose. Orders show how the two terms grow."
        )
    if query.longest_delay is None:
        sentences.append(
            f"Explicit exploration is computed with tau_max = E[tau] = {query.mean_delay:g}, the "
            "smallest possible value, and not compared; see --longest-delay."
        )
    return sentences


def _compare_terms(rows: "Sequence[Guarantee]") -> str:
    """Return a sentence about the orders whose delay term is not below the leading term.

    The sentence names the updater and the base of each of these orders.
    """
    late = [row for row in rows if row.order.delay >= row.order.leading]
    if not late:
        return "In every order, the leading term is larger than the delay term."
    if len(late) == len(rows):
        return "In every order, the delay term is at least as large as the leading term."
    listed = []
    for updating in dict.fromkeys(row.updating for row in late):
        same = [row for row in late if row.updating == updating]
        every = len(same) == sum(row.updating == updating for row in rows)
        bases = "every base" if every else ", ".join(str(row.base) for row in same)
        listed.append(f"{format_updater(same[0])} with {bases}")
    return (
        "The delay term is at least as large as the leading term in the order of "
        f"{'; '.join(listed)}."
    )


def _smallest_totals(query: BoundsQuery, rows: "Sequence[Guarantee]") -> str:
    """Return a sentence that names the rows with the smallest order and the smallest bound.

    Explicit exploration is omitted if the maximum delay tau_max is not given in `query`.
    """
    known = query.longest_delay is not None
    candidates = [row for row in rows if known or row.updating != "explicit"]
    orders = [(row.order.total, row) for row in candidates]
    bounds = [(row.bound.total, row) for row in rows if row.bound is not None]
    return (
        f"The smallest order is that of {_smallest(orders)}; "
        f"the smallest bound is that of {_smallest(bounds)}."
    )


def _smallest(totals: "Sequence[tuple[float, Guarantee]]") -> str:
    """Return a text with the smallest total, and the updaters and bases of the rows that have it.

    `totals` contains a pair for each row: the total of its order or bound, and the row.
    """
    least = min(total for total, _ in totals)
    bases: dict[str, list[str]] = {}  # by updater
    for total, row in totals:
        if math.isclose(total, least, rel_tol=1e-9):
            bases.setdefault(format_updater(row), []).append(row.base or "any base")
    names = [f"{updater} with {' and '.join(found)}" for updater, found in bases.items()]
    return f"{', '.join(names)}, {least:.2g}"


def _best_alphas(query: BoundsQuery) -> str:
    alphas = query.best_alphas()
    listed = ", ".join(f"{base} {alpha:.3g}" for base, alpha in alphas.items())
    active = ""
    if math.inf in alphas.values():
        active = (
            " (inf is active updating: there, the bound of lazy updating, Theorem 2, falls as "
            "alpha grows; the bound of active updating in the table, Theorem 1, is larger)"
        )
    return f"Alpha with the smallest bound: {listed}{active}."


def _vacuous_totals(query: BoundsQuery, rows: "Sequence[Guarantee]") -> str:
    """Return a sentence that says how many bounds exceed the maximum regret K H."""
    bounds = [row.bound for row in rows if row.bound is not None]
    vacuous = sum(bound.vacuous for bound in bounds)
    limit = f"K H = {bounds[0].max_regret:,}, the maximum reward of {query.episodes:,} episodes"
    if vacuous == len(bounds) and all(row.order.vacuous for row in rows):
        return (
            f"Every total is vacuous (*): it is above {limit}. At this K no total is a reason to "
            "prefer a method; only the proportions of its terms are useful."
        )
    if vacuous == len(bounds):
        return f"Every bound is vacuous (*): it is above {limit}. Orders are not bounds."
    if vacuous:
        return (
            f"{vacuous} of {len(bounds)} bounds are vacuous (*): they are above {limit}. Orders "
            "are not bounds."
        )
    return f"No bound is vacuous: each is below {limit}. Orders are not bounds."
