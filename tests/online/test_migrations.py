"""A database of any version is brought up to date."""

import shutil
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from belated.checks.ledger import samples
from belated.online import Ledger, migrations, schema
from belated.online.store import Store

NEXT = '''
"""A column more."""

import sqlalchemy as sa
from alembic import op

revision = "next"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("episodes", sa.Column("note", sa.Text))
    op.execute("UPDATE episodes SET note = 'old'")
'''


@pytest.fixture
def later(tmp_path: Path) -> Path:
    """The versions, with another one to come."""
    folder = tmp_path / "migrations"
    shutil.copytree(migrations.FOLDER, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "versions" / "v9999_next.py").write_text(NEXT)
    return folder


def version(ledger: Ledger) -> str | None:
    with ledger.store.reading() as connection:
        return migrations.current(connection)


def test_an_empty_database_gets_the_newest_version(url: str) -> None:
    with Ledger.open(url) as ledger:
        assert version(ledger) == migrations.newest() is not None


def test_the_tables_are_those_that_the_code_knows(ledger: Ledger) -> None:
    with ledger.store.reading() as connection:
        context = MigrationContext.configure(
            connection, opts={"version_table": migrations.TABLE, "compare_type": True}
        )
        assert compare_metadata(context, schema.metadata) == []
        indexes = sa.inspect(connection).get_indexes("events")
    assert {index["name"] for index in indexes} >= {"events_of_problem", "events_rare"}


def test_a_database_of_the_first_version_is_brought_up_to_date(url: str) -> None:
    store = Store.open(url)
    with store.writing() as connection:
        migrations.upgrade(connection, "0001")
        assert migrations.current(connection) == "0001"
    store.close()
    with Ledger.open(url) as ledger:
        assert version(ledger) == migrations.newest()
        assert samples.opened(ledger, samples.defined(ledger))


def test_what_was_recorded_survives_an_upgrade(url: str, later: Path) -> None:
    with Ledger.open(url) as ledger:
        [episode] = samples.opened(ledger, samples.defined(ledger), subject="Ann")
        samples.seq(samples.tell(ledger, episode, samples.whole(5)))
        before = list(ledger.events())
        with ledger.store.writing() as connection:
            migrations.upgrade(connection, folder=later)
        assert version(ledger) == "next"
        assert list(ledger.events()) == before
        with ledger.store.reading() as connection:
            notes = connection.exec_driver_sql("SELECT subject, note FROM episodes").all()
    assert [tuple(row) for row in notes] == [("Ann", "old")]


def test_an_upgrade_that_fails_leaves_the_database_as_it_was(url: str, later: Path) -> None:
    (later / "versions" / "v9999_next.py").write_text(NEXT + '    op.execute("nonsense")\n')
    with Ledger.open(url) as ledger:
        with pytest.raises(sa.exc.DBAPIError), ledger.store.writing() as connection:
            migrations.upgrade(connection, folder=later)
        assert version(ledger) == "0001"
        with ledger.store.reading() as connection:
            columns = [column["name"] for column in sa.inspect(connection).get_columns("episodes")]
    assert "note" not in columns


def test_a_database_from_the_future_is_refused_with_a_sentence(url: str, later: Path) -> None:
    with Ledger.open(url) as ledger, ledger.store.writing() as connection:
        migrations.upgrade(connection, folder=later)
    with pytest.raises(ValueError, match=r"^The database has version next, which this belated"):
        Ledger.open(url)


def test_a_ledger_leaves_the_alembic_of_its_neighbours_alone(ledger: Ledger) -> None:
    with ledger.store.reading() as connection:
        tables = sa.inspect(connection).get_table_names()
    assert set(tables) == {*schema.metadata.tables, "belated_version"}
