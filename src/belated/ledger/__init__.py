"""Ledger: append-only record of all events, stored in SQLite or PostgreSQL.

>>> with Ledger.open("sqlite://") as ledger:
...     spec = ProblemSpec(name="clinic", states=("ill", "well"), actions=("wait", "treat"),
...                        horizon=1, rewards=[[0, 0], [1, 1]], base=Part("ucrl2"),
...                        updater=Part("active"), episodes=1000)
...     print(ledger.define(spec))
Recorded(seq=1, episode=None)
"""

from belated.extras import missing_extra

try:
    import alembic as alembic
    import sqlalchemy as sqlalchemy
except ImportError:
    raise ImportError(
        missing_extra("belated.ledger", "SQLAlchemy and alembic", "service")
    ) from None

from belated.ledger.events import (
    AlreadyRecorded,
    Conflict,
    DataWithdrawn,
    EpisodeRecord,
    Event,
    Invalid,
    NotFound,
    Outcome,
    Recorded,
)
from belated.ledger.kinds import (
    Control,
    Corrected,
    Defined,
    Feedback,
    Lost,
    Opened,
    Published,
    Tick,
    Withdrawn,
)
from belated.ledger.ledger import Ledger
from belated.ledger.problems import Part, Problem, ProblemSpec

__all__ = [
    "AlreadyRecorded",
    "Conflict",
    "Control",
    "Corrected",
    "DataWithdrawn",
    "Defined",
    "EpisodeRecord",
    "Event",
    "Feedback",
    "Invalid",
    "Ledger",
    "Lost",
    "NotFound",
    "Opened",
    "Outcome",
    "Part",
    "Problem",
    "ProblemSpec",
    "Published",
    "Recorded",
    "Tick",
    "Withdrawn",
]
