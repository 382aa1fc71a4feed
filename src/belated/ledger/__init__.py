"""The learner for real: what happened, kept in a ledger, and what follows from it.

>>> with Ledger.open("sqlite://") as ledger:
...     spec = Spec(name="clinic", states=("ill", "well"), actions=("wait", "treat"), horizon=1,
...                 rewards=[[0, 0], [1, 1]], base=Part("ucrl2"), updater=Part("active"),
...                 episodes=1000)
...     print(ledger.define(spec))
Recorded(seq=1, episode=None)
"""

try:
    import alembic as alembic
    import sqlalchemy as sqlalchemy
except ImportError:
    raise ImportError(
        "belated.ledger needs SQLAlchemy and alembic: pip install 'belated[service]'."
    ) from None

from belated.ledger.events import (
    Control,
    Corrected,
    Defined,
    Event,
    Feedback,
    Opened,
    Published,
    Tick,
    Withdrawn,
)
from belated.ledger.ledger import Ledger
from belated.ledger.outcomes import (
    AlreadyRecorded,
    Conflict,
    Gone,
    Outcome,
    Recorded,
    Refused,
    Unknown,
)
from belated.ledger.problems import Part, Spec

__all__ = [
    "AlreadyRecorded",
    "Conflict",
    "Control",
    "Corrected",
    "Defined",
    "Event",
    "Feedback",
    "Gone",
    "Ledger",
    "Opened",
    "Outcome",
    "Part",
    "Published",
    "Recorded",
    "Refused",
    "Spec",
    "Tick",
    "Unknown",
    "Withdrawn",
]
