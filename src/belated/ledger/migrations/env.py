"""Environment script of the migrations. Alembic executes it under the module name `env_py`."""

from alembic import context

from belated.ledger.migrations import TABLE
from belated.ledger.schema import metadata


def run() -> None:
    """Run the migrations on the connection in the attributes of alembic's configuration."""
    context.configure(
        connection=context.config.attributes["connection"],
        target_metadata=metadata,
        version_table=TABLE,
    )
    with context.begin_transaction():
        context.run_migrations()


if __name__ == "env_py":
    run()
