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

from belated.ledger.events import AlreadyRecorded as AlreadyRecorded
from belated.ledger.events import Conflict as Conflict
from belated.ledger.events import DataWithdrawn as DataWithdrawn
from belated.ledger.events import EpisodeRecord as EpisodeRecord
from belated.ledger.events import Event as Event
from belated.ledger.events import Invalid as Invalid
from belated.ledger.events import NotFound as NotFound
from belated.ledger.events import Outcome as Outcome
from belated.ledger.events import Recorded as Recorded
from belated.ledger.kinds import Control as Control
from belated.ledger.kinds import Corrected as Corrected
from belated.ledger.kinds import Defined as Defined
from belated.ledger.kinds import Feedback as Feedback
from belated.ledger.kinds import Lost as Lost
from belated.ledger.kinds import Opened as Opened
from belated.ledger.kinds import Published as Published
from belated.ledger.kinds import Tick as Tick
from belated.ledger.kinds import Withdrawn as Withdrawn
from belated.ledger.ledger import Ledger as Ledger
from belated.ledger.problems import Part as Part
from belated.ledger.problems import Problem as Problem
from belated.ledger.problems import ProblemSpec as ProblemSpec
