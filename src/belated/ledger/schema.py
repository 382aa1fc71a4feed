"""Tables of a ledger, and the canonical texts and digests of what is stored in them.

The table `events` is append-only: database triggers reject every change except redaction, which
deletes the content of an event when data is withdrawn. The tables `problems`, `episodes`, `claims`
and `policies` follow from the events; `belated.ledger.kinds` says how. The others are independent.
"""

import hashlib
import json
import secrets
from functools import partial
from typing import Any, Final

import sqlalchemy as sa

metadata: Final = sa.MetaData()
required: Final = partial(sa.Column, nullable=False)

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
    required("problem", Number),
    sa.Column("episode", sa.String(64)),
    required("kind", sa.String(16)),
    required("at", Number),
    sa.Column("event_time", Number),
    sa.Column("body", sa.Text),
    sa.Column("salt", sa.LargeBinary),
    required("sha", Sha),
    required("redacted", sa.Boolean),
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
    required("name", sa.String(100), unique=True),
    sa.Column("archived", Number),
)

episodes: Final = sa.Table(
    "episodes",
    metadata,
    sa.Column("id", sa.String(64), primary_key=True),
    required("problem", Number, sa.ForeignKey("problems.id")),
    required("number", Number),
    required("version", Number),
    required("seq", Number),
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

# The feedback of each episode: sequence numbers of its events, joined by commas. A row is keyed by
# the seq at which the episode was opened, not by its random id, so that the rows of episodes that
# were opened at about the same time are stored close together.
claims: Final = sa.Table(
    "claims",
    metadata,
    sa.Column("episode", Number, primary_key=True, autoincrement=False),
    required("seqs", sa.Text),
    required("replaced", sa.Text),  # by a correction
)

# One row: what identifies the ledger, and what its events must end with.
ledger: Final = sa.Table(
    "ledger",
    metadata,
    sa.Column("id", sa.String(32), primary_key=True),  # random
    required("events", Number),
    sa.Column("sha", Sha),  # of the last event
    required("digest_version", sa.Integer),
)

DIGEST_VERSION: Final = 1
"""Version of the digests of events: SHA-256 of the salt and the text."""

policies: Final = sa.Table(
    "policies",
    metadata,
    sa.Column("problem", Number, sa.ForeignKey("problems.id"), primary_key=True),
    sa.Column("version", Number, primary_key=True, autoincrement=False),
    required("seq", Number),
    sa.Column("tick", Number),
    required("actions", sa.LargeBinary),
    sa.Column("explore", sa.LargeBinary),
    required("epsilon", sa.Double),
    required("sha", Sha),
)

snapshots: Final = sa.Table(
    "snapshots",
    metadata,
    sa.Column("problem", Number, sa.ForeignKey("problems.id"), primary_key=True),
    sa.Column("seq", Number, primary_key=True, autoincrement=False),
    required("at", Number),
    required("data", sa.LargeBinary),
    required("sha", Sha),
)

tokens: Final = sa.Table(
    "tokens",
    metadata,
    sa.Column("id", sa.String(64), primary_key=True),
    required("hash", sa.LargeBinary),
    required("scopes", sa.Text),
    sa.Column("problem", Number, sa.ForeignKey("problems.id")),
    required("created", Number),
    sa.Column("revoked", Number),
    sa.Column("expires", Number),
    sa.Column("used", Number),
)

quarantine: Final = sa.Table(
    "quarantine",
    metadata,
    sa.Column("id", Number, primary_key=True, autoincrement=False),
    required("at", Number),
    sa.Column("problem", Number),
    sa.Column("episode", sa.String(64)),
    required("outcome", sa.String(16)),
    required("reason", sa.Text),
    sa.Column("body", sa.Text),
    required("sha", Sha, unique=True),
    required("times", Number),
    sa.Index("quarantine_of_episode", "episode"),
)

idempotency_keys: Final = sa.Table(
    "idempotency_keys",
    metadata,
    sa.Column("id", Number, primary_key=True, autoincrement=False),
    required("key", Sha, unique=True),
    required("sha", Sha),
    required("at", Number),
    required("status", sa.Integer),
    sa.Column("media_type", sa.String(100)),
    sa.Column("body", sa.LargeBinary),
    sa.Index("idempotency_keys_at", "at"),
)

_NEXT: Final = "COALESCE((SELECT MAX(seq) FROM events), 0) + 1"
_REDACTION: Final = """
    NEW.redacted AND NOT OLD.redacted AND OLD.kind IN ('feedback', 'corrected', 'lost')
    AND NEW.body IS NULL AND NEW.salt IS NULL AND NEW.event_time IS NULL
    AND NEW.seq = OLD.seq AND NEW.problem = OLD.problem AND NEW.episode = OLD.episode
    AND NEW.kind = OLD.kind AND NEW.at = OLD.at AND NEW.sha = OLD.sha
"""

TRIGGERS: Final = {
    "sqlite": (
        f"""CREATE TRIGGER events_next BEFORE INSERT ON events WHEN NEW.seq <> {_NEXT}
            BEGIN SELECT RAISE(ABORT, 'events are numbered without gaps'); END""",
        f"""CREATE TRIGGER events_keep BEFORE UPDATE ON events WHEN ({_REDACTION}) IS NOT TRUE
            BEGIN SELECT RAISE(ABORT, 'events are append-only'); END""",
        """CREATE TRIGGER events_stay BEFORE DELETE ON events
            BEGIN SELECT RAISE(ABORT, 'events are append-only'); END""",
    ),
    "postgresql": (
        f"""CREATE OR REPLACE FUNCTION belated_next() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN
                IF NEW.seq <> {_NEXT} THEN
                    RAISE EXCEPTION 'events are numbered without gaps';
                END IF;
                RETURN NEW;
            END $$""",
        """CREATE OR REPLACE FUNCTION belated_refuse() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'events are append-only'; END $$""",
        """CREATE TRIGGER events_next BEFORE INSERT ON events
            FOR EACH ROW EXECUTE FUNCTION belated_next()""",
        f"""CREATE TRIGGER events_keep BEFORE UPDATE ON events
            FOR EACH ROW WHEN (({_REDACTION}) IS NOT TRUE) EXECUTE FUNCTION belated_refuse()""",
        """CREATE TRIGGER events_stay BEFORE DELETE OR TRUNCATE ON events
            FOR EACH STATEMENT EXECUTE FUNCTION belated_refuse()""",
    ),
}
"""Map from the SQL dialect to the statements that make the table of events append-only.

The triggers reject events whose sequence number would leave a gap, and every change of an event
except its redaction."""


def create(connection: sa.Connection) -> None:
    """Create all tables and triggers in an empty database, and draw the identity of the ledger."""
    metadata.create_all(connection, checkfirst=False)
    for statement in TRIGGERS[connection.dialect.name]:
        connection.exec_driver_sql(statement)
    row = {"id": secrets.token_hex(16), "events": 0, "digest_version": DIGEST_VERSION}
    connection.execute(sa.insert(ledger).values(**row))


SALT_BYTES: Final = 16
"""Length in bytes of the random salt of a digest.

The salt keeps the text from being guessed from its digest."""

_ENCODER: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical(value: Any) -> str:
    """Return `value` as ASCII JSON with sorted keys and without spaces.

    >>> canonical({"b": 1.0, "a": ["é", None]})
    '{"a":["\\\\u00e9",null],"b":1.0}'
    """
    return _ENCODER.encode(value)


def digest(text: str, salt: bytes = b"") -> str:
    """Return the SHA-256 of `salt` followed by `text`, in hexadecimal.

    >>> digest("null")[:8]
    '74234e98'
    """
    return hashlib.sha256(salt + text.encode()).hexdigest()


def to_json(value: Any) -> str:
    """Return `value` as JSON; an object that JSON cannot represent is replaced by its `repr`."""
    try:
        return json.dumps(value, sort_keys=True, default=repr)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(repr(value))
