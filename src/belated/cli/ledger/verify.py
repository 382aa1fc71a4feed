"""Verification of a ledger: its events, and everything computed from them."""

from dataclasses import dataclass

from sqlalchemy.exc import SQLAlchemyError

from belated.cli.ledger.existing_ledger import ExistingLedger
from belated.ledger import schema
from belated.online.verify import Verdict, verify
from belated.progress import Progress


@dataclass(frozen=True)
class Verification:
    """Result of a verification."""

    digest: str
    """Digest of all events that were read."""
    faults: list[str]
    """Faults of the ledger as a whole."""
    verdicts: list[Verdict]
    """Result for each problem, without the faults of the ledger as a whole."""


def verify_ledger(ledger: ExistingLedger, *, problem: int | None) -> Verification:
    """Recompute one problem of `ledger`, or, if `problem` is None, all and the ledger as a whole.

    `problem` is the id of the problem. Returns the faults that were found.
    """
    passes = 3 if problem is None else 2
    total = passes * ledger.count_rows(schema.events, problem)
    with Progress("Verifying", total=total, unit="rows") as ledger.progress:
        faults = ledger.faults() if problem is None else []
        digest = ledger.digest(problem)
        verdicts = [
            verify_problem(ledger, id, name)
            for id, name in ledger.names().items()
            if problem in (None, id)
        ]
    for verdict in verdicts:
        verdict.faults = [fault for fault in verdict.faults if fault not in faults]
    return Verification(digest, faults, verdicts)


def verify_problem(ledger: ExistingLedger, id: int, name: str) -> Verdict:
    """Verify one problem; a problem that cannot be read has that as its fault.

    Parameters
    ----------
    ledger : ExistingLedger
        The ledger.
    id, name : int, str
        Id and name of the problem.

    Returns
    -------
    Verdict
        The faults of the problem.
    """
    try:
        problem = ledger.problem(id)
        if problem is None:
            return Verdict(name, faults=["The event that defines the problem is missing."])
        return verify(ledger, problem)
    except SQLAlchemyError:
        raise
    except Exception as error:
        return Verdict(name, faults=[f"Cannot be read: {type(error).__name__}: {error}"])
