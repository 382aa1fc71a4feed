"""Reading on and on."""

import tracemalloc

import pytest

import ledger_samples as samples
from belated.ledger import Ledger
from belated.ledger.store import PAGE_SIZE

ROWS = 20_000

FILL = """
WITH RECURSIVE numbers(n) AS (SELECT 3 UNION ALL SELECT n + 1 FROM numbers WHERE n < {rows})
INSERT INTO events
SELECT n, 1, 'nobody', 'opened', n, NULL, '{{"number":1,"version":1}}' || {blanks}, NULL, 'x', FALSE
FROM numbers ORDER BY n
"""


def peak(ledger: Ledger, *, upto: int) -> int:
    """Bytes that reading takes beyond what was there."""
    tracemalloc.start()
    try:
        count = sum(1 for event in ledger.events(upto=upto) if event.body)
        assert count == upto
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_stays_flat_over_many_rows(url: str) -> None:
    with Ledger.open(url) as ledger:
        samples.defined(ledger)
        blanks = (
            "repeat(' ', 500)"
            if ledger.store.on_postgres
            else "replace(hex(zeroblob(250)), '0', ' ')"
        )
        with ledger.store.writing() as connection:
            connection.exec_driver_sql(FILL.format(rows=ROWS, blanks=blanks))
        assert ledger.last == ROWS
        peak(ledger, upto=3 * PAGE_SIZE)  # whatever is made once
        few, many = peak(ledger, upto=3 * PAGE_SIZE), peak(ledger, upto=ROWS)
    assert many < 1.5 * few
    assert many < ROWS * 500 / 4


def test_reading_begins_at_once_and_goes_no_further_than_asked(memory: Ledger) -> None:
    samples.opened(memory, samples.defined(memory), 2 * PAGE_SIZE)
    events = memory.events()
    assert next(events).seq == 1
    # what comes while one reads is read as well
    samples.opened(memory, 1, 1)
    assert [event.seq for event in events] == list(range(2, 2 * PAGE_SIZE + 4))
    assert len(list(memory.events(limit=PAGE_SIZE))) == PAGE_SIZE
    assert len(list(memory.events(limit=PAGE_SIZE + 1))) == PAGE_SIZE + 1


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"after": -1}, "after must be at least 0, got -1."),
        ({"upto": 1.5}, "upto must be an integer, got 1.5."),
        ({"limit": -1}, "limit must be at least 0, got -1."),
        ({"problem": 2**63}, f"problem must be below 2**63, got {2**63}."),
        ({"kinds": ["found"]}, "kinds must be a list of defined, opened, feedback,"),
        ({"kinds": "tick"}, "kinds must be a list of defined, opened, feedback,"),
    ],
)
def test_nonsense_gets_a_sentence_before_anything_is_read(memory: Ledger, asked, sentence) -> None:
    with pytest.raises((ValueError, TypeError)) as raised:
        memory.events(**asked)
    assert str(raised.value).startswith(sentence)


def test_many_episodes_are_looked_up_together(ledger: Ledger) -> None:
    ids = samples.opened(ledger, samples.defined(ledger), 1200)
    found = ledger.episodes(iter(ids))
    assert found.keys() == set(ids)
    assert {id: found[id] for id in ids[::50]} == {id: ledger.episode(id) for id in ids[::50]}
    assert list(ledger.episodes([ids[7], "nobody", "n" * 22, ids[7]])) == [ids[7]]
    assert ledger.episodes([]) == {}
