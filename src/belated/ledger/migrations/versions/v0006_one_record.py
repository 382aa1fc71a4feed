"""Bring a ledger of version 0.1 or 0.2 up to date: one record of claims for each episode.

The table of claims had one row for each part of an episode that had arrived; the sequence numbers
of the events were enough. The tables of earlier versions differ in more: the first had no lost
episodes, archived problems, stored responses and times of tokens, stored subjects with the
episodes, and keyed claims by the random id of the episode. The table `ledger` is new in all.
"""

import secrets
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
SHA = sa.String(64)
ROWS_PER_INSERT = 1000


def upgrade() -> None:
    """Change the tables of any earlier version; no event is changed."""
    tables = sa.inspect(op.get_bind()).get_table_names()
    if "replaced" not in tables:
        key_claims_by_opening()
    if "idempotency_keys" not in tables:
        add_lost_and_archived()
    tokens = sa.inspect(op.get_bind()).get_columns("tokens")
    if "used" not in [column["name"] for column in tokens]:
        op.add_column("tokens", sa.Column("expires", NUMBER))
        op.add_column("tokens", sa.Column("used", NUMBER))
    if "subjects" not in tables:
        move_subjects()
    join_claims()
    add_ledger()


def key_claims_by_opening() -> None:
    """Replace the ids of episodes in the claims, and list the events that corrections replaced."""
    op.create_table("opened_claims", *(sa.Column(name, NUMBER) for name in ("episode", "seq")))
    op.execute(
        """INSERT INTO opened_claims SELECT episodes.seq, claims.seq
           FROM claims JOIN episodes ON episodes.id = claims.episode"""
    )
    op.drop_table("claims")
    op.rename_table("opened_claims", "claims")
    op.create_table("replaced", *(sa.Column(name, NUMBER) for name in ("episode", "seq")))
    op.execute(
        """INSERT INTO replaced SELECT DISTINCT episodes.seq, earlier.seq
           FROM events AS correction
           JOIN events AS earlier ON earlier.episode = correction.episode
               AND earlier.kind IN ('feedback', 'corrected') AND earlier.seq < correction.seq
           JOIN episodes ON episodes.id = correction.episode
           WHERE correction.kind = 'corrected'"""
    )
    op.drop_index("events_of_episode", "events")


def add_lost_and_archived() -> None:
    """Add lost episodes, archived problems and stored responses; permit to redact lost events."""
    op.add_column("episodes", sa.Column("lost", NUMBER))
    op.add_column("problems", sa.Column("archived", NUMBER))
    op.create_table(
        "idempotency_keys",
        sa.Column("id", NUMBER, primary_key=True, autoincrement=False),
        sa.Column("key", SHA, nullable=False, unique=True),
        sa.Column("sha", SHA, nullable=False),
        sa.Column("at", NUMBER, nullable=False),
        sa.Column("status", sa.Integer, nullable=False),
        sa.Column("media_type", sa.String(100)),
        sa.Column("body", sa.LargeBinary),
    )
    op.create_index("idempotency_keys_at", "idempotency_keys", ["at"])
    for statement in GUARDS[op.get_bind().dialect.name]:
        op.execute(statement)


def move_subjects() -> None:
    """Copy the subjects to a new table, and replace the table of episodes by one without subjects.

    Dropping only the column would leave the subjects in the pages of the table. The pages of a
    dropped table are overwritten by SQLite, and deleted by PostgreSQL.
    """
    op.create_table(
        "subjects",
        sa.Column("episode", NUMBER, primary_key=True, autoincrement=False),
        sa.Column("subject", sa.String(200)),
    )
    op.execute(
        """INSERT INTO subjects (episode, subject)
           SELECT seq, subject FROM episodes WHERE subject IS NOT NULL ORDER BY seq"""
    )
    if op.get_bind().dialect.name == "postgresql":
        op.create_index("subjects_subject", "subjects", ["subject"])
        op.drop_constraint("episodes_number", "episodes")  # the name is used again below
    op.create_table(
        "episodes_without_subject",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("problem", NUMBER, sa.ForeignKey("problems.id"), nullable=False),
        sa.Column("number", NUMBER, nullable=False),
        sa.Column("version", NUMBER, nullable=False),
        sa.Column("seq", NUMBER, nullable=False),
        sa.Column("withdrawn", NUMBER),
        sa.Column("lost", NUMBER),
        sa.UniqueConstraint("problem", "number", name="episodes_number"),
    )
    op.execute(
        """INSERT INTO episodes_without_subject
               (id, problem, number, version, seq, withdrawn, lost)
           SELECT id, problem, number, version, seq, withdrawn, lost FROM episodes ORDER BY seq"""
    )
    op.drop_table("episodes")
    op.rename_table("episodes_without_subject", "episodes")


def join_claims() -> None:
    """Join the claims of each episode to one record with the sequence numbers of its feedback.

    Withdrawn episodes have no record.
    """
    joined = op.create_table(
        "joined_claims",
        sa.Column("episode", NUMBER, primary_key=True, autoincrement=False),
        sa.Column("seqs", sa.Text, nullable=False),
        sa.Column("replaced", sa.Text, nullable=False),
    )
    rows = op.get_bind().execute(
        sa.text(
            """SELECT feedback.* FROM (
                   SELECT episode, seq, 0 AS replaced FROM claims
                   UNION SELECT episode, seq, 1 FROM replaced
               ) AS feedback
               JOIN episodes ON episodes.seq = feedback.episode
               WHERE episodes.withdrawn IS NULL ORDER BY feedback.episode, feedback.seq"""
        ),
        execution_options={"yield_per": ROWS_PER_INSERT},
    )
    chunk: list[dict[str, Any]] = []
    for record in records(rows):
        chunk.append(record)
        if len(chunk) == ROWS_PER_INSERT:
            op.bulk_insert(joined, chunk)
            chunk = []
    op.bulk_insert(joined, chunk)
    op.drop_table("claims")
    op.drop_table("replaced")
    op.rename_table("joined_claims", "claims")


def records(rows: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """Yield one record of claims for each episode in `rows`: (episode, seq, is replaced)."""
    for episode, group in groupby(rows, itemgetter(0)):
        seqs: tuple[list[str], list[str]] = ([], [])
        for _, seq, is_replaced in group:
            seqs[is_replaced].append(str(seq))
        yield {"episode": episode, "seqs": ",".join(seqs[0]), "replaced": ",".join(seqs[1])}


def add_ledger() -> None:
    """Draw an identity for the ledger, and store the number of its events and the last digest."""
    table = op.create_table(
        "ledger",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("events", NUMBER, nullable=False),
        sa.Column("sha", SHA),
        sa.Column("digest_version", sa.Integer, nullable=False),
    )
    last = sa.text("SELECT seq, sha FROM events ORDER BY seq DESC LIMIT 1")
    seq, sha = op.get_bind().execute(last).first() or (0, None)
    row = {"id": secrets.token_hex(16), "events": seq, "sha": sha, "digest_version": 1}
    op.bulk_insert(table, [row])


REDACTION = """
    NEW.redacted AND NOT OLD.redacted AND OLD.kind IN ('feedback', 'corrected', 'lost')
    AND NEW.body IS NULL AND NEW.salt IS NULL AND NEW.event_time IS NULL
    AND NEW.seq = OLD.seq AND NEW.problem = OLD.problem AND NEW.episode = OLD.episode
    AND NEW.kind = OLD.kind AND NEW.at = OLD.at AND NEW.sha = OLD.sha
"""

GUARDS = {
    "sqlite": (
        "DROP TRIGGER events_keep",
        f"""CREATE TRIGGER events_keep BEFORE UPDATE ON events WHEN ({REDACTION}) IS NOT TRUE
            BEGIN SELECT RAISE(ABORT, 'events are append-only'); END""",
    ),
    "postgresql": (
        "DROP TRIGGER events_keep ON events",
        f"""CREATE TRIGGER events_keep BEFORE UPDATE ON events
            FOR EACH ROW WHEN (({REDACTION}) IS NOT TRUE) EXECUTE FUNCTION belated_refuse()""",
    ),
}
