"""Snapshots are read as they were saved."""

import pytest

from belated.ledger import Ledger
from belated.ledger.kinds import Corrected
from ledger_samples import defined, one, opened, seq, tell, whole


@pytest.fixture
def ledger(any_ledger: Ledger) -> Ledger:
    """An empty ledger in a file, in memory or on PostgreSQL."""
    return any_ledger


def test_snapshots_of_corrected_or_withdrawn_events_are_dropped(ledger: Ledger) -> None:
    """A snapshot is read as it was saved, unless what it was made of has changed since."""
    problem = defined(ledger)
    before = ledger.last
    a, b = opened(ledger, problem, 2)
    seqs = [before, seq(tell(ledger, a, whole(1))), seq(tell(ledger, b, whole(2)))]
    for place in seqs:
        assert ledger.snapshots.save(problem, place, bytes([place]))

    def newest(upto: int | None = None) -> int | None:
        found = ledger.snapshots.newest(problem, upto=upto)
        assert found is None or found.data == bytes([found.seq])
        return None if found is None else found.seq

    found = [newest(), newest(seqs[2] - 1), newest(seqs[0] - 1)]
    assert found == [seqs[2], seqs[1], None]
    late = ledger.last
    seq(one(ledger, Corrected(b, whole(3))))
    assert newest() == seqs[1]
    assert not ledger.snapshots.save(problem, late, b"late")
    [withdrawn] = ledger.withdraw(episode=a)
    seq(withdrawn)
    assert newest() == seqs[0]
    assert ledger.snapshots.newest(99) is None
