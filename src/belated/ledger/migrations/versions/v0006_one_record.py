"""Bring a ledger of version 0.1 or 0.2 up to date: one record of claims for each episode.

The table of claims had one row for each part of an episode that had arrived; it follows from the
events. The tables of earlier versions differ in more: the first had no lost
episodes, archived problems, stored responses and times of tokens, stored subjects with the
episodes, and keyed claims by the random id of the episode. The table `ledger` is new in all.

New tables are those of `belated.ledger.schema`. Whoever changes one of them later must copy its
present definition to this module.
"""

import secrets
from collections.abc import Iterable, Iterator
from itertools import groupby, islice
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
    if "replaced" in tables:
        op.drop_table("replaced")
    else:
        op.drop_index("events_of_episode", "events")
    join_claims()
    if "idempotency_keys" not in tables:
        add_lost_and_archived()
    tokens = sa.inspect(op.get_bind()).get_columns("tokens")
    if "used" not in [column["name"] for column in tokens]:
        op.add_column("tokens", sa.Column("expires", NUMBER))
        op.add_column("tokens", sa.Column("used", NUMBER))
    if "subjects" not in tables:
        move_subjects()
    add_ledger()


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
    """Replace the claims by one record for each episode, from its events.

    Withdrawn episodes have no record.
    """
    op.drop_table("claims")
    schema.claims.create(op.get_bind())
    rows = op.get_bind().execute(
        sa.text(
            """SELECT episodes.seq, events.seq, events.kind
               FROM events JOIN episodes ON episodes.id = events.episode
               WHERE events.kind IN ('feedback', 'corrected') AND episodes.withdrawn IS NULL
               ORDER BY episodes.seq, events.seq"""
        ),
        execution_options={"yield_per": ROWS_PER_INSERT},
    )
    claims = records(rows)
    while chunk := list(islice(claims, ROWS_PER_INSERT)):
        op.bulk_insert(schema.claims, chunk)


def records(rows: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """Yield one record of claims for each episode in `rows`: (episode, seq of an event, kind)."""
    for episode, events in groupby(rows, itemgetter(0)):
        seqs: list[str] = []
        replaced: list[str] = []
        for _, seq, kind in events:
            if kind == "corrected":
                replaced, seqs = replaced + seqs, []
            seqs.append(str(seq))
        yield {"episode": episode, "seqs": ",".join(seqs), "replaced": ",".join(replaced)}


def add_ledger() -> None:
    """Draw an identity for the ledger, and store the number of its events and the last digest."""
    schema.ledger.create(op.get_bind())
    last = sa.text("SELECT seq, sha FROM events ORDER BY seq DESC LIMIT 1")
    seq, sha = op.get_bind().execute(last).first() or (0, None)
    row = {"id": secrets.token_hex(16), "events": seq, "sha": sha, "digest_version": 1}
    op.bulk_insert(schema.ledger, [row])
