"""Whether a ledger is sound: its events, and all that was made of them."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy.exc import SQLAlchemyError

from belated.cli.count import Count
from belated.cli.watched import Watched
from belated.ledger import schema
from belated.online.verify import Verdict, verify


@dataclass(frozen=True)
class Checked:
    """What was found."""

    digest: str
    """Of all events that were looked at."""
    faults: list[str]
    """What is wrong with the ledger as a whole."""
    verdicts: list[Verdict]
    """What came of each problem; what is told of the whole is left out."""


def check(ledger: Watched, names: Mapping[int, str], *, problem: int | None) -> Checked:
    """Recompute one problem from nothing, or all of them and look at the whole as well."""
    passes = 3 if problem is None else 2
    with Count("Verifying", passes * ledger.size(schema.events, problem)) as count:
        ledger.count = count
        faults = ledger.faults() if problem is None else []
        digest = ledger.digest(problem)
        verdicts = [judged(ledger, id, name) for id, name in names.items() if problem in (None, id)]
    for verdict in verdicts:
        verdict.faults = [fault for fault in verdict.faults if fault not in faults]
    return Checked(digest, faults, verdicts)


def judged(ledger: Watched, id: int, name: str) -> Verdict:
    """Verify a problem; one that cannot even be read is at fault."""
    try:
        problem = ledger.problem(id)
        if problem is None:
            return Verdict(name, faults=["The event that defined it is not there."])
        return verify(ledger, problem)
    except SQLAlchemyError:
        raise
    except Exception as error:
        reason = f"It cannot be read: {type(error).__name__}: {error}"
        return Verdict(name, faults=[reason])
