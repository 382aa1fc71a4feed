"""Create the tables of the ledger."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
SHA = sa.String(64)
RARE = sa.text("kind NOT IN ('opened', 'feedback')")


def upgrade() -> None:
    """Create all tables and triggers.

    The triggers reject events whose sequence number would leave a gap. They also reject every
    change of an event except its redaction.
    """
    op.create_table(
        "events",
        sa.Column("seq", NUMBER, primary_key=True, autoincrement=False),
        sa.Column("problem", NUMBER, nullable=False),
        sa.Column("episode", sa.String(64)),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("at", NUMBER, nullable=False),
        sa.Column("event_time", NUMBER),
        sa.Column("body", sa.Text),
        sa.Column("salt", sa.LargeBinary),
        sa.Column("sha", SHA, nullable=False),
        sa.Column("redacted", sa.Boolean, nullable=False),
    )
    op.create_index("events_of_problem", "events", ["problem", "seq"])
    op.create_index("events_of_episode", "events", ["episode"])
    op.create_index(
        "events_rare",
        "events",
        ["problem", "kind", "seq"],
        sqlite_where=RARE,
        postgresql_where=RARE,
    )
    op.create_table(
        "problems",
        sa.Column("id", NUMBER, primary_key=True, autoincrement=False),
        sa.Column("name", sa.String(100), nullable=False, unique=True),
    )
    op.create_table(
        "episodes",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("problem", NUMBER, sa.ForeignKey("problems.id"), nullable=False),
        sa.Column("number", NUMBER, nullable=False),
        sa.Column("version", NUMBER, nullable=False),
        sa.Column("seq", NUMBER, nullable=False),
        sa.Column("subject", sa.String(200)),
        sa.Column("withdrawn", NUMBER),
        sa.UniqueConstraint("problem", "number", name="episodes_number"),
    )
    op.create_index("episodes_of_subject", "episodes", ["subject"])
    op.create_table(
        "claims",
        sa.Column("episode", sa.String(64), sa.ForeignKey("episodes.id"), primary_key=True),
        sa.Column("part", sa.String(32), primary_key=True),
        sa.Column("sha", SHA, nullable=False),
        sa.Column("seq", NUMBER, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "policies",
        sa.Column("problem", NUMBER, sa.ForeignKey("problems.id"), primary_key=True),
        sa.Column("version", NUMBER, primary_key=True, autoincrement=False),
        sa.Column("seq", NUMBER, nullable=False),
        sa.Column("tick", NUMBER),
        sa.Column("actions", sa.LargeBinary, nullable=False),
        sa.Column("explore", sa.LargeBinary),
        sa.Column("epsilon", sa.Double, nullable=False),
        sa.Column("sha", SHA, nullable=False),
    )
    op.create_table(
        "snapshots",
        sa.Column("problem", NUMBER, sa.ForeignKey("problems.id"), primary_key=True),
        sa.Column("seq", NUMBER, primary_key=True, autoincrement=False),
        sa.Column("at", NUMBER, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.Column("sha", SHA, nullable=False),
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("hash", sa.LargeBinary, nullable=False),
        sa.Column("scopes", sa.Text, nullable=False),
        sa.Column("problem", NUMBER, sa.ForeignKey("problems.id")),
        sa.Column("created", NUMBER, nullable=False),
        sa.Column("revoked", NUMBER),
    )
    op.create_table(
        "quarantine",
        sa.Column("id", NUMBER, primary_key=True, autoincrement=False),
        sa.Column("at", NUMBER, nullable=False),
        sa.Column("problem", NUMBER),
        sa.Column("episode", sa.String(64)),
        sa.Column("outcome", sa.String(16), nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("body", sa.Text),
        sa.Column("sha", SHA, nullable=False, unique=True),
        sa.Column("times", NUMBER, nullable=False),
    )
    op.create_index("quarantine_of_episode", "quarantine", ["episode"])
    for statement in GUARDS[op.get_bind().dialect.name]:
        op.execute(statement)


REDACTION = """
    NEW.redacted AND NOT OLD.redacted AND OLD.kind IN ('feedback', 'corrected')
    AND NEW.body IS NULL AND NEW.salt IS NULL AND NEW.event_time IS NULL
    AND NEW.seq = OLD.seq AND NEW.problem = OLD.problem AND NEW.episode = OLD.episode
    AND NEW.kind = OLD.kind AND NEW.at = OLD.at AND NEW.sha = OLD.sha
"""
NEXT = "COALESCE((SELECT MAX(seq) FROM events), 0) + 1"

GUARDS = {
    "sqlite": (
        f"""CREATE TRIGGER events_next BEFORE INSERT ON events WHEN NEW.seq <> {NEXT}
            BEGIN SELECT RAISE(ABORT, 'events are numbered without gaps'); END""",
        f"""CREATE TRIGGER events_keep BEFORE UPDATE ON events WHEN ({REDACTION}) IS NOT TRUE
            BEGIN SELECT RAISE(ABORT, 'events are append-only'); END""",
        """CREATE TRIGGER events_stay BEFORE DELETE ON events
            BEGIN SELECT RAISE(ABORT, 'events are append-only'); END""",
    ),
    "postgresql": (
        f"""CREATE FUNCTION belated_next() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN
                IF NEW.seq <> {NEXT} THEN
                    RAISE EXCEPTION 'events are numbered without gaps';
                END IF;
                RETURN NEW;
            END $$""",
        """CREATE FUNCTION belated_refuse() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'events are append-only'; END $$""",
        """CREATE TRIGGER events_next BEFORE INSERT ON events
            FOR EACH ROW EXECUTE FUNCTION belated_next()""",
        f"""CREATE TRIGGER events_keep BEFORE UPDATE ON events
            FOR EACH ROW WHEN (({REDACTION}) IS NOT TRUE) EXECUTE FUNCTION belated_refuse()""",
        """CREATE TRIGGER events_stay BEFORE DELETE OR TRUNCATE ON events
            FOR EACH STATEMENT EXECUTE FUNCTION belated_refuse()""",
    ),
}
