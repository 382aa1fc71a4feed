"""What the theory promises, as a table and in sentences."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from belated.cli.support.tables import numbers

if TYPE_CHECKING:
    from rich.table import Table

    from belated.cli.bounds import Asked
    from belated.theory.comparison import Promise
    from belated.theory.regret import Regret

LONG = 10**18
"""More episodes than anyone plays."""


def order_table(promises: "Sequence[Promise]", alpha: float) -> "Table":
    """The orders: one row for each base and way to update."""
    rows = heading("Orders")
    for promise in promises:
        rows.add_row(
            promise.base or "any",
            name(promise, alpha),
            *cells(promise.order, promise.order_fades),
            end_section=promise.updating == "multi",
        )
    return rows


def bound_table(promises: "Sequence[Promise]", alpha: float) -> "Table":
    """The bounds, of those that have one."""
    rows = heading("Bounds")
    for promise in promises:
        if promise.bound is not None:
            rows.add_row(
                promise.base,
                name(promise, alpha),
                *cells(promise.bound, promise.bound_fades),
                end_section=promise.updating == "lazy",
            )
    return rows


def heading(kind: str) -> "Table":
    """An empty table of promises of a kind."""
    rows = numbers(kind, ("", "leading", "delay", "total", "delay fades at K"))
    rows.columns[1].justify = "left"
    return rows


def name(promise: "Promise", alpha: float | None = None) -> str:
    """How it updates, as a person says it."""
    if promise.updating == "lazy" and alpha is not None:
        return f"lazy, alpha {alpha:g}"
    return {"multi": "multi-instance", "explicit": "explicit exploration"}.get(
        promise.updating, promise.updating
    )


def cells(regret: "Regret", fades: int | None) -> tuple[str, ...]:
    """Leading term, delay term, total, and the K at which delay fades."""
    mark = "*" if regret.vacuous and not regret.order else ""
    return (
        f"{regret.leading:.2g}",
        f"{regret.delay:.2g}",
        f"{regret.total:.2g}{mark}",
        f"> {LONG:.0e}" if fades is None else f"{fades:.2g}",
    )


def sentences(asked: "Asked", promises: "Sequence[Promise]") -> list[str]:
    """What the table says."""
    from belated.theory import lower_bound, psi

    late = psi(asked.mean_delay, asked.episodes, asked.delta)
    least = lower_bound(asked.shape, episodes=asked.episodes).total
    sure = 100 * (1 - asked.delta / 5)
    said = [
        f"At most {late:,.0f} episodes are missing at a time, with probability {sure:g}% (psi).",
        which_dominates(promises),
        which_is_least(promises),
        f"No learner beats the order {least:.2g} (H sqrt(SAT)) on every problem of this size.",
        best_alphas(asked.best_alphas()),
        vacuous(asked, promises),
    ]
    if asked.longest_delay is None:
        said.append(
            f"Explicit exploration is shown for tau_max = E[tau] = {asked.mean_delay:g}, the least "
            "it can be; see --longest-delay."
        )
    return said


def which_dominates(promises: "Sequence[Promise]") -> str:
    """Delay or learning."""
    late = [promise for promise in promises if promise.order.delay >= promise.order.leading]
    if not late:
        return "Learning costs more than delay, by every order."
    if len(late) == len(promises):
        return "Delay costs more than learning, by every order."
    listed = []
    for updating in dict.fromkeys(promise.updating for promise in late):
        those = [promise for promise in late if promise.updating == updating]
        every = len(those) == sum(promise.updating == updating for promise in promises)
        bases = "every base" if every else ", ".join(str(promise.base) for promise in those)
        listed.append(f"{name(those[0])} with {bases}")
    return f"Delay costs more than learning, by the order of {'; '.join(listed)}."


def which_is_least(promises: "Sequence[Promise]") -> str:
    """The least of the orders and the least of the bounds."""
    order = min(promises, key=lambda promise: promise.order.total)
    proven = [(promise.bound, promise) for promise in promises if promise.bound is not None]
    bound, promise = min(proven, key=lambda pair: pair[0].total)
    return (
        f"The least order is that of {name(order)} with {order.base or 'any base'}, "
        f"{order.order.total:.2g}; the least bound that of {name(promise)} with {promise.base}, "
        f"{bound.total:.2g}."
    )


def best_alphas(found: Mapping[str, float]) -> str:
    """The alpha for each base."""
    listed = ", ".join(f"{base} {alpha:.3g}" for base, alpha in found.items())
    active = " (inf is active updating)" if math.inf in found.values() else ""
    return f"The alpha with the least bound: {listed}{active}."


def vacuous(asked: "Asked", promises: "Sequence[Promise]") -> str:
    """How much the numbers are worth."""
    proven = [promise.bound for promise in promises if promise.bound is not None]
    empty = sum(bound.vacuous for bound in proven)
    most = f"K H = {proven[0].most:,}, all that {asked.episodes:,} episodes can earn"
    if empty == len(proven) and all(promise.order.vacuous for promise in promises):
        return f"Every total is vacuous: it is above {most}. Only proportions mean anything."
    if empty == len(proven):
        return f"Every bound is vacuous (*): it is above {most}. Orders are no bounds."
    if empty:
        return (
            f"Vacuous (*) are {empty} of {len(proven)} bounds: above {most}. Orders are no bounds."
        )
    return f"No bound is vacuous: each is below {most}. Orders are no bounds."
