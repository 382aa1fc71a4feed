"""Change the key of the claims table from the random id of an episode to its opening seq.

The claims table lists the recorded parts of episodes. With the new key, rows of episodes that were
opened at about the same time are stored close together, so that recording feedback changes fewer
pages of the database. The index of events by episode is dropped, since the feedback events of an
episode can be found through its claims. If a correction has deleted the claims, the feedback events
can be found in the new table `replaced`.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Change the key of the claims table to the opening seq, and add the table `replaced`.

    Rows of the old claims table are copied. The table `replaced` lists all feedback events that
    were recorded before a correction of their episode.
    """
    op.create_table(
        "claims_in_order",
        sa.Column("episode", NUMBER, primary_key=True, autoincrement=False),
        sa.Column("part", sa.String(32), primary_key=True),
        sa.Column("sha", sa.String(64), nullable=False),
        sa.Column("seq", NUMBER, nullable=False),
        sqlite_with_rowid=False,
    )
    op.execute(
        """INSERT INTO claims_in_order (episode, part, sha, seq)
           SELECT episodes.seq, claims.part, claims.sha, claims.seq
           FROM claims JOIN episodes ON episodes.id = claims.episode
           ORDER BY episodes.seq, claims.part"""
    )
    op.drop_table("claims")
    op.rename_table("claims_in_order", "claims")
    op.create_table(
        "replaced",
        sa.Column("episode", NUMBER, primary_key=True, autoincrement=False),
        sa.Column("seq", NUMBER, primary_key=True, autoincrement=False),
        sqlite_with_rowid=False,
    )
    op.execute(
        """INSERT INTO replaced (episode, seq)
           SELECT DISTINCT episodes.seq, earlier.seq
           FROM events AS correction
           JOIN events AS earlier ON earlier.episode = correction.episode
               AND earlier.kind IN ('feedback', 'corrected') AND earlier.seq < correction.seq
           JOIN episodes ON episodes.id = correction.episode
           WHERE correction.kind = 'corrected'"""
    )
    op.drop_index("events_of_episode", "events")
