"""Tables of a ledger.

The table `events` is append-only: database triggers reject every change except redaction, which
deletes the content of an event when data is withdrawn. The tables `tokens`, `quarantine` and
`idempotency_keys` are independent of `events`; all other tables are derived from it.
"""

from typing import Final

import sqlalchemy as sa

metadata: Final = sa.MetaData()

# In SQLite, a primary key is the rowid only if its type is INTEGER, which has 64 bits there.
Number: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
Sha: Final = sa.String(64)

RARE: Final = "kind NOT IN ('opened', 'feedback')"
"""SQL condition that selects rare events: all kinds except openings and feedback.

There is a partial index of rare events. A query must contain this condition to use the index."""

events: Final = sa.Table(
    "events",
    metadata,
    sa.Column("seq", Number, primary_key=True, autoincrement=False),
    sa.Column("problem", Number, nullable=False),
    sa.Column("episode", sa.String(64)),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("at", Number, nullable=False),
    sa.Column("event_time", Number),
    sa.Column("body", sa.Text),
    sa.Column("salt", sa.LargeBinary),
    sa.Column("sha", Sha, nullable=False),
    sa.Column("redacted", sa.Boolean, nullable=False),
    sa.Index("events_of_problem", "problem", "seq"),
    sa.Index(
        "events_rare",
        "problem",
        "kind",
        "seq",
        sqlite_where=sa.text(RARE),
        postgresql_where=sa.text(RARE),
    ),
)

problems: Final = sa.Table(
    "problems",
    metadata,
    sa.Column("id", Number, primary_key=True, autoincrement=False),
    sa.Column("name", sa.String(100), nullable=False, unique=True),
    sa.Column("archived", Number),
)

episodes: Final = sa.Table(
    "episodes",
    metadata,
    sa.Column("id", sa.String(64), primary_key=True),
    sa.Column("problem", Number, sa.ForeignKey("problems.id"), nullable=False),
    sa.Column("number", Number, nullable=False),
    sa.Column("version", Number, nullable=False),
    sa.Column("seq", Number, nullable=False),
    sa.Column("withdrawn", Number),
    sa.Column("lost", Number),
    sa.UniqueConstraint("problem", "number", name="episodes_number"),
)

# The subjects of episodes. SQLite overwrites deleted content, but not the copies that remain in
# unallocated space when it moves a row or an index entry to another page. So that it never moves a
# subject, rows are only inserted in increasing order of their key and changed to NULL, never
# deleted or enlarged, and no index contains a subject. PostgreSQL does not overwrite in any case.
subjects: Final = sa.Table(
    "subjects",
    metadata,
    sa.Column("episode", Number, primary_key=True, autoincrement=False),  # seq of the opening
    sa.Column("subject", sa.String(200)),
    sa.Index("subjects_subject", "subject").ddl_if(dialect="postgresql"),
)

# The recorded parts of episodes. A row is keyed by the seq at which the episode was opened, not by
# the random id of the episode, so that the claims of episodes that were opened at about the same
# time are stored close together.
claims: Final = sa.Table(
    "claims",
    metadata,
    sa.Column("episode", Number, primary_key=True, autoincrement=False),
    sa.Column("part", sa.String(32), primary_key=True),
    sa.Column("sha", Sha, nullable=False),
    sa.Column("seq", Number, nullable=False),
    sqlite_with_rowid=False,
)

# Events whose claims were deleted by a correction.
replaced: Final = sa.Table(
    "replaced",
    metadata,
    sa.Column("episode", Number, primary_key=True, autoincrement=False),
    sa.Column("seq", Number, primary_key=True, autoincrement=False),
    sqlite_with_rowid=False,
)

policies: Final = sa.Table(
    "policies",
    metadata,
    sa.Column("problem", Number, sa.ForeignKey("problems.id"), primary_key=True),
    sa.Column("version", Number, primary_key=True, autoincrement=False),
    sa.Column("seq", Number, nullable=False),
    sa.Column("tick", Number),
    sa.Column("actions", sa.LargeBinary, nullable=False),
    sa.Column("explore", sa.LargeBinary),
    sa.Column("epsilon", sa.Double, nullable=False),
    sa.Column("sha", Sha, nullable=False),
)

snapshots: Final = sa.Table(
    "snapshots",
    metadata,
    sa.Column("problem", Number, sa.ForeignKey("problems.id"), primary_key=True),
    sa.Column("seq", Number, primary_key=True, autoincrement=False),
    sa.Column("at", Number, nullable=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
    sa.Column("sha", Sha, nullable=False),
)

tokens: Final = sa.Table(
    "tokens",
    metadata,
    sa.Column("id", sa.String(64), primary_key=True),
    sa.Column("hash", sa.LargeBinary, nullable=False),
    sa.Column("scopes", sa.Text, nullable=False),
    sa.Column("problem", Number, sa.ForeignKey("problems.id")),
    sa.Column("created", Number, nullable=False),
    sa.Column("revoked", Number),
    sa.Column("expires", Number),
    sa.Column("used", Number),
)

quarantine: Final = sa.Table(
    "quarantine",
    metadata,
    sa.Column("id", Number, primary_key=True, autoincrement=False),
    sa.Column("at", Number, nullable=False),
    sa.Column("problem", Number),
    sa.Column("episode", sa.String(64)),
    sa.Column("outcome", sa.String(16), nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("body", sa.Text),
    sa.Column("sha", Sha, nullable=False, unique=True),
    sa.Column("times", Number, nullable=False),
    sa.Index("quarantine_of_episode", "episode"),
)

idempotency_keys: Final = sa.Table(
    "idempotency_keys",
    metadata,
    sa.Column("id", Number, primary_key=True, autoincrement=False),
    sa.Column("key", Sha, nullable=False, unique=True),
    sa.Column("sha", Sha, nullable=False),
    sa.Column("at", Number, nullable=False),
    sa.Column("status", sa.Integer, nullable=False),
    sa.Column("media_type", sa.String(100)),
    sa.Column("body", sa.LargeBinary),
    sa.Index("idempotency_keys_at", "at"),
)
