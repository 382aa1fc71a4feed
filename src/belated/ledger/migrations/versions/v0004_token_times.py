"""Add the times at which a token expires and was last used."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the columns `expires` and `used` to the table of tokens; existing tokens never expire."""
    op.add_column("tokens", sa.Column("expires", NUMBER))
    op.add_column("tokens", sa.Column("used", NUMBER))
