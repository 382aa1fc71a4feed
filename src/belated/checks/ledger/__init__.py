"""Conformance of a ledger: what a service relies on when it says that something is recorded.

`open` is a function that opens the ledger of a name: an empty one when the name is new, and the
same again, beside the first or after it was closed, when it is not.

    @pytest.mark.parametrize("check", ledger_checks(my_ledgers), ids=str)
    def test_my_ledger(check):
        check()

It needs the ledger's own requirements: pip install 'belated[service]'.
"""

from collections.abc import Callable, Collection
from typing import Final

from belated.checks.ledger import beside, feedback, order, problems, withdrawal
from belated.checks.ledger.samples import Open
from belated.checks.suite import Check
from belated.checks.suite import select_checks as choose


def ledger_checks(open: Open, *, without: Collection[str] = ()) -> list[Check]:
    """Every check of the ledgers that `open` opens by name, to be called one by one.

    Each check uses a name of its own, so that `open` must begin with no ledger of any name.
    `without` names checks to leave out, for what a ledger does not claim.

    >>> print(*ledger_checks(print, without=["kept", "race", "tail"]))
    numbers reading digest repeats batch conflicts unknown pieces rewards malformed corrections
    definitions episodes again ticks versions control withdrawal once snapshots quarantine tokens
    """
    if not callable(open):
        raise TypeError(f"open is {open!r}; it must be a function that opens a ledger by name.")
    return choose(CHECKS, without, open)


def check_ledger(open: Open, *, without: Collection[str] = ()) -> None:
    """All of `ledger_checks` at once: raises AssertionError with the first thing that is wrong."""
    for check in ledger_checks(open, without=without):
        check()


CHECKS: Final[dict[str, Callable[..., None]]] = {
    "numbers": order.numbers_without_gaps,
    "reading": order.reads_any_stretch,
    "kept": order.keeps_what_it_recorded,
    "race": order.counts_once_in_a_race,
    "tail": order.can_be_followed,
    "digest": order.can_be_checked,
    "repeats": feedback.records_repeats_once,
    "batch": feedback.judges_within_a_batch,
    "conflicts": feedback.refuses_contradictions,
    "unknown": feedback.knows_its_episodes,
    "pieces": feedback.takes_an_episode_in_pieces,
    "rewards": feedback.takes_rewards_later,
    "malformed": feedback.refuses_what_is_malformed,
    "corrections": feedback.lets_the_last_correction_hold,
    "definitions": problems.defines_a_name_once,
    "episodes": problems.numbers_episodes,
    "again": problems.opens_a_given_id_once,
    "ticks": problems.ends_batches_in_order,
    "versions": problems.publishes_versions_in_order,
    "control": problems.keeps_decisions,
    "withdrawal": withdrawal.redacts_what_is_withdrawn,
    "once": withdrawal.withdraws_once,
    "snapshots": withdrawal.drops_snapshots_of_what_changed,
    "quarantine": beside.keeps_refusals_aside,
    "tokens": beside.keeps_tokens,
}
