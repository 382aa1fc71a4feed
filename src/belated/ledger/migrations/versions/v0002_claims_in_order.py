"""Key claims by the seq at which their episode was opened instead of its random id.

Claims of episodes that were opened at about the same time then lie close together, where each piece
of feedback touched a page of its own in two indexes before. The index of events by episode is
dropped: the feedback of an episode is found by its claims, and by the new table `replaced` if a
correction has deleted them.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Rebuild the table of claims, and fill the table of replaced events."""
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
