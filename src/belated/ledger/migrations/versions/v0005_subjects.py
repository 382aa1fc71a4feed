"""Move the subjects of episodes to a table of their own, without an index on SQLite.

When SQLite moves a row or an index entry to another page, a copy can remain in unallocated space,
which a later withdrawal does not overwrite. In the new table, no row is ever moved.
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
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
