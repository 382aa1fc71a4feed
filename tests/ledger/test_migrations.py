"""A database of any version is brought up to date."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import get_args

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

import ledger_samples as samples
from belated.ledger import AlreadyRecorded, Feedback, Ledger, migrations, schema
from belated.ledger.events import Kind
from belated.ledger.store import Store
from belated.online.verify import verify

NEXT = '''
"""A column more."""

import sqlalchemy as sa
from alembic import op

revision = "next"
down_revision = "0006"


def upgrade() -> None:
    op.add_column("episodes", sa.Column("note", sa.Text))
    op.execute("UPDATE episodes SET note = 'old'")
'''


FIRST = Path(__file__).with_name("first_migration.sql")
"""A ledger as the first version wrote it, with something of every kind; never to be changed."""
DIGEST = "26b1aa4f0bc9bf3d71f9033d15a0b0e2a8a47aa924ef032bdaffcbc696b5d5ca"
"""Of its events."""
POLICY = "216e230404f14c86edc784797110bac45ec796998a92c9693a8df9e1b0d748e2"
"""Of what they come to."""


REGRESSION = Path(__file__).parents[1] / "regression"
EARLIER = {
    "0001": FIRST,
    "0002": REGRESSION / "ledger-0.1.db",
    "0005": REGRESSION / "ledger-0.2.db",
}
"""Map from a version of the tables to a ledger with these tables."""


def store_earlier(number: str, url: str, folder: Path) -> None:
    """Write the ledger of an earlier version to the empty database at `url`."""
    path = Path(url.removeprefix("sqlite:///")) if url.startswith("sqlite") else folder / "old.db"
    if EARLIER[number] is FIRST:
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(FIRST.read_text())
    else:
        shutil.copy(EARLIER[number], path)
    if url.startswith("sqlite"):
        return
    old, new = Store.open(f"sqlite:///{path}"), Store.open(url)
    with old.reading() as source, new.writing() as target:
        known = sa.MetaData()
        known.reflect(source)
        for table in known.tables.values():
            for column in table.columns:
                generic = column.type.as_generic()
                is_big = isinstance(generic, sa.Integer) and column.name != "status"
                column.type = sa.BigInteger() if is_big else generic
        known.create_all(target)
        for statement in schema.TRIGGERS["postgresql"]:
            target.exec_driver_sql(statement)
        for table in known.sorted_tables:
            rows = [dict(row._mapping) for row in source.execute(sa.select(table))]
            if rows:
                target.execute(sa.insert(table), sorted(rows, key=lambda row: row.get("seq", 0)))
    old.close()
    new.close()


@pytest.fixture
def first(url: str, tmp_path: Path) -> str:
    """The address of the ledger that the first version wrote, on either database."""
    store_earlier("0001", url, tmp_path)
    return url


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


def check_tables(ledger: Ledger) -> None:
    """Check that the tables are those that the code knows."""
    with ledger.store.reading() as connection:
        context = MigrationContext.configure(
            connection,
            opts={
                "version_table": migrations.TABLE,
                "compare_type": True,
                # subjects are indexed on PostgreSQL only
                "include_object": lambda _, name, *__: name != "subjects_subject",
            },
        )
        assert compare_metadata(context, schema.metadata) == []
        indexes = sa.inspect(connection).get_indexes("events")
    assert {index["name"] for index in indexes} >= {"events_of_problem", "events_rare"}


def test_new_subjects_are_indexed_on_postgresql_only(ledger: Ledger) -> None:
    check_tables(ledger)
    with ledger.store.reading() as connection:
        found = [index["name"] for index in sa.inspect(connection).get_indexes("subjects")]
    assert found == (["subjects_subject"] if ledger.store.on_postgres else [])


@pytest.mark.parametrize("number", EARLIER)
def test_a_ledger_of_an_earlier_version_is_brought_up_to_date(
    number: str, url: str, tmp_path: Path
) -> None:
    store_earlier(number, url, tmp_path)
    store = Store.open(url)
    with store.reading() as connection:
        assert migrations.current(connection) == number
        before = connection.execute(sa.select(schema.events).order_by(schema.events.c.seq)).all()
    store.close()
    with Ledger.open(url) as ledger:
        check_tables(ledger)
        assert version(ledger) == migrations.newest()
        assert [tuple(event) for event in ledger.events()] == [tuple(row) for row in before]
        assert ledger.faults() == []
        for problem in ledger.problems():
            assert verify(ledger, problem).sound
        with ledger.store.reading() as connection:
            row = connection.execute(sa.select(schema.ledger)).one()
        assert (row.events, row.sha) == (before[-1].seq, before[-1].sha)
        assert row.digest_version == schema.DIGEST_VERSION
        assert len(row.id) == 32


def test_every_ledger_has_an_identity_and_knows_its_last_event(url: str, sqlite_url: str) -> None:
    rows = []
    for each in (url, sqlite_url.replace("ledger.db", "other.db")):
        with Ledger.open(each) as ledger:
            seqs = [samples.defined(ledger), ledger.last]
            samples.opened(ledger, seqs[0], 3)
        with Ledger.open(each) as ledger, ledger.store.reading() as connection:
            rows.append(connection.execute(sa.select(schema.ledger)).one())
            assert (rows[-1].events, rows[-1].sha) == (5, samples.at(ledger, 5).sha)
    assert rows[0].id != rows[1].id


def test_a_ledger_of_the_first_version_is_read_as_it_was_written(first: str) -> None:
    with Ledger.open(first) as ledger:
        assert version(ledger) == migrations.newest()
        counts = samples.count_rows(ledger)
        assert (counts.episodes, counts.withdrawn) == (14, 1)
        assert set(counts.events) == set(get_args(Kind)) - {"lost"}  # a later kind
        assert (counts.redacted, counts.quarantined) == (1, 1)
        assert (ledger.digest(), ledger.faults()) == (DIGEST, [])
        assert [token.id for token in ledger.tokens.all()] == ["one"]
        [problem] = ledger.problems()
        verdict = verify(ledger, problem)
        assert (verdict.faults, verdict.unsettled, verdict.policy) == ([], [], POLICY)


def test_subjects_of_the_first_version_are_kept_and_can_be_withdrawn(first: str) -> None:
    store = Store.open(first)
    with store.reading() as connection:
        rows = connection.exec_driver_sql("SELECT id, subject FROM episodes").all()
    store.close()
    before = {row.id: row.subject for row in rows}
    named = sorted({subject for subject in before.values() if subject is not None})
    assert len(named) > 1
    with Ledger.open(first) as ledger:
        assert {id: known.subject for id, known in ledger.episodes(before).items()} == before
        for subject in named:
            [outcome] = ledger.withdraw(subject=subject)
            ids = [id for id, text in before.items() if text == subject]
            assert sorted(samples.at(ledger, samples.seq(outcome)).body["episodes"]) == sorted(ids)
        assert {known.subject for known in ledger.episodes(before).values()} == {None}
        [problem] = ledger.problems()
        assert (ledger.faults(), verify(ledger, problem).faults) == ([], [])


def test_what_a_correction_replaced_before_the_upgrade_is_still_found(first: str) -> None:
    with Ledger.open(first) as ledger:
        [corrected] = ledger.events(kinds=["corrected"])
        answers = [
            event
            for event in ledger.events(kinds=["feedback", "corrected"])
            if event.episode == corrected.episode
        ]
        assert [event.kind for event in answers] == ["feedback", "corrected"]
        id = str(corrected.episode)
        assert ledger.append([Feedback(id, answers[0].body)]) == [AlreadyRecorded(answers[0].seq)]
        ledger.withdraw(episode=id)
        left = [event for event in ledger.events() if event.episode == id]
        assert [event.redacted for event in left] == [False, True, True]
        [problem] = ledger.problems()
        assert verify(ledger, problem).faults == []


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
            notes = connection.exec_driver_sql(
                "SELECT subject, note FROM episodes JOIN subjects ON seq = episode"
            ).all()
    assert [tuple(row) for row in notes] == [("Ann", "old")]


def test_an_upgrade_that_fails_leaves_the_database_as_it_was(url: str, later: Path) -> None:
    (later / "versions" / "v9999_next.py").write_text(NEXT + '    op.execute("nonsense")\n')
    with Ledger.open(url) as ledger:
        with pytest.raises(sa.exc.DBAPIError), ledger.store.writing() as connection:
            migrations.upgrade(connection, folder=later)
        assert version(ledger) == migrations.newest()
        with ledger.store.reading() as connection:
            columns = [column["name"] for column in sa.inspect(connection).get_columns("episodes")]
    assert "note" not in columns


def test_a_database_from_the_future_is_refused_with_a_sentence(url: str, later: Path) -> None:
    with Ledger.open(url) as ledger, ledger.store.writing() as connection:
        migrations.upgrade(connection, folder=later)
    with pytest.raises(ValueError, match=r"^The database has version next, which this release"):
        Ledger.open(url)


def test_a_ledger_leaves_the_alembic_of_its_neighbours_alone(ledger: Ledger) -> None:
    with ledger.store.reading() as connection:
        tables = sa.inspect(connection).get_table_names()
    assert set(tables) == {*schema.metadata.tables, "belated_version"}
