"""Verification of a ledger: its events, and all stored results computed from the events."""

from dataclasses import dataclass

from sqlalchemy.exc import SQLAlchemyError

from belated.cli.ledger.existing_ledger import ExistingLedger
from belated.ledger import schema
from belated.ledger.store import UnreadableRowError
from belated.online.verify import Verdict, verify
from belated.progress import Progress


@dataclass(frozen=True)
class Verification:
    """Result of the verification of a ledger."""

    digest: str
    """Digest of all events that were read; "unknown" if an event cannot be read."""
    faults: list[str]
    """Messages about faults of the ledger as a whole."""
    verdicts: list[Verdict]
    """Verdict on each problem. Faults of the ledger as a whole are not repeated in the verdicts."""


def verify_ledger(ledger: ExistingLedger, *, problem: int | None) -> Verification:
    """Verify `ledger`, or only the problem with the id `problem`, and return the result.

    The stored results of each problem are recomputed from its events and compared. If `problem` is
    None, all problems and the ledger as a whole are verified.
    """
    passes = 3 if problem is None else 2
    total = passes * ledger.count_rows(schema.events, problem)
    with Progress("Verifying", total=total, unit="rows") as ledger.progress:
        try:
            faults = ledger.faults() if problem is None else []
            digest = ledger.digest(problem)
        except UnreadableRowError as error:
            faults, digest = [str(error)], "unknown"
        verdicts = [
            verify_problem(ledger, id, name)
            for id, name in ledger.names().items()
            if problem in (None, id)
        ]
    for verdict in verdicts:
        verdict.faults = [fault for fault in verdict.faults if fault not in faults]
    return Verification(digest, faults, verdicts)


def verify_problem(ledger: ExistingLedger, id: int, name: str) -> Verdict:
    """Verify one problem.

    If the events of the problem cannot be read, the verdict has a fault that states this. Database
    errors are raised.

    Parameters
    ----------
    ledger : ExistingLedger
        Ledger with the problem.
    id, name : int, str
        Id and name of the problem.

    Returns
    -------
    Verdict
        Verdict with the faults of the problem.
    """
    try:
        problem = ledger.problem(id)
        if problem is None:
            return Verdict(name, faults=["The event that defines the problem is missing."])
        return verify(ledger, problem)
    except SQLAlchemyError:
        raise
    except Exception as error:
        return Verdict(name, faults=[f"Events cannot be read: {type(error).__name__}: {error}"])
