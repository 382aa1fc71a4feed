"""Tokens are stored by the hash of their secret."""

import pytest

from belated.ledger import Ledger
from ledger_samples import defined


@pytest.fixture
def ledger(any_ledger: Ledger) -> Ledger:
    """An empty ledger in a file, in memory or on PostgreSQL."""
    return any_ledger


def test_tokens_are_kept_also_after_they_are_revoked(ledger: Ledger) -> None:
    """A token is kept by the hash of its secret, until it is revoked, and after."""
    problem = defined(ledger)
    made = [
        ledger.tokens.add("one", b"\0hash", scopes=["feedback", "decide"]),
        ledger.tokens.add("two", b"other", scopes=["admin"], problem=problem),
    ]
    assert (made[0].scopes, made[0].problem, made[1].problem) == (
        ("decide", "feedback"),
        None,
        problem,
    )
    assert [ledger.tokens.get(token.id) for token in made] == made
    assert sorted(ledger.tokens.all(), key=lambda token: token.id) == made
    assert ledger.tokens.get("three") is None
    assert ledger.tokens.revoke("one")
    assert not ledger.tokens.revoke("one")
    assert not ledger.tokens.revoke("three")
    found = [ledger.tokens.get(token.id) for token in made]
    assert found[0] is not None
    assert found[0].revoked is not None
    assert found[1] == made[1]
    for id, given in (("two", None), ("four", 99)):
        with pytest.raises(ValueError, match=repr(id)):
            ledger.tokens.add(id, b"again", scopes=["admin"], problem=given)
