"""What alembic runs around the versions; it does so under a name of its own."""

from alembic import context

from belated.ledger.migrations import TABLE
from belated.ledger.schema import metadata


def run() -> None:
    """Run the versions on the connection that was handed over."""
    context.configure(
        connection=context.config.attributes["connection"],
        target_metadata=metadata,
        version_table=TABLE,
    )
    with context.begin_transaction():
        context.run_migrations()


if __name__ == "env_py":
    run()
