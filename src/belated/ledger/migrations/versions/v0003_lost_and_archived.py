"""Add lost episodes, archived problems and idempotency keys.

An event of the kind `lost` contains a reason in words. It can therefore be redacted, like feedback.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
SHA = sa.String(64)


def upgrade() -> None:
    """Add the columns `episodes.lost` and `problems.archived`, and the table `idempotency_keys`.

    The trigger that rejects changes of events is replaced by one that also permits the redaction of
    events of the kind `lost`.
    """
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
