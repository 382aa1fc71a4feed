"""Bring a ledger of version 0.1 or 0.2 up to date: one record of claims for each episode.

The table of claims had one row for each part of an episode that had arrived; the sequence numbers
of the events were enough. The tables of earlier versions differ in more: the first had no lost
episodes, archived problems, stored responses and times of tokens, stored subjects with the
episodes, and keyed claims by the random id of the episode. The table `ledger` is new in all.

New tables are those of `belated.ledger.schema`. Whoever changes one of them later must copy its
present definition to this module.
"""

import secrets
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

import sqlalchemy as sa
from alembic import op

from belated.ledger import schema

revision = "0006"
down_revision = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
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
    schema.idempotency_keys.create(op.get_bind())
    on_postgres = op.get_bind().dialect.name == "postgresql"
    op.execute(f"DROP TRIGGER events_keep{' ON events' if on_postgres else ''}")
    for statement in schema.TRIGGERS[op.get_bind().dialect.name]:
        if statement.startswith("CREATE TRIGGER events_keep"):
            op.execute(statement)


def move_subjects() -> None:
    """Copy the subjects to a new table, and replace the table of episodes by one without subjects.

    Dropping only the column would leave the subjects in the pages of the table. The pages of a
    dropped table are overwritten by SQLite, and deleted by PostgreSQL.
    """
    schema.subjects.create(op.get_bind())
    op.execute(
        """INSERT INTO subjects (episode, subject)
           SELECT seq, subject FROM episodes WHERE subject IS NOT NULL ORDER BY seq"""
    )
    if op.get_bind().dialect.name == "postgresql":
        op.drop_constraint("episodes_number", "episodes")  # the name is used again below
    op.rename_table("episodes", "episodes_with_subject")
    schema.episodes.create(op.get_bind())
    op.execute(
        """INSERT INTO episodes (id, problem, number, version, seq, withdrawn, lost)
           SELECT id, problem, number, version, seq, withdrawn, lost
           FROM episodes_with_subject ORDER BY seq"""
    )
    op.drop_table("episodes_with_subject")


def join_claims() -> None:
    """Join the claims of each episode to one record with the sequence numbers of its feedback.

    Withdrawn episodes have no record.
    """
    op.rename_table("claims", "claims_of_parts")
    schema.claims.create(op.get_bind())
    rows = op.get_bind().execute(
        sa.text(
            """SELECT feedback.* FROM (
                   SELECT episode, seq, 0 AS replaced FROM claims_of_parts
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
            op.bulk_insert(schema.claims, chunk)
            chunk = []
    op.bulk_insert(schema.claims, chunk)
    op.drop_table("claims_of_parts")
    op.drop_table("replaced")


def records(rows: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """Yield one record of claims for each episode in `rows`: (episode, seq, is replaced)."""
    for episode, group in groupby(rows, itemgetter(0)):
        seqs: tuple[list[str], list[str]] = ([], [])
        for _, seq, is_replaced in group:
            seqs[is_replaced].append(str(seq))
        yield {"episode": episode, "seqs": ",".join(seqs[0]), "replaced": ",".join(seqs[1])}


def add_ledger() -> None:
    """Draw an identity for the ledger, and store the number of its events and the last digest."""
    schema.ledger.create(op.get_bind())
    last = sa.text("SELECT seq, sha FROM events ORDER BY seq DESC LIMIT 1")
    seq, sha = op.get_bind().execute(last).first() or (0, None)
    row = {"id": secrets.token_hex(16), "events": seq, "sha": sha, "digest_version": 1}
    op.bulk_insert(schema.ledger, [row])
