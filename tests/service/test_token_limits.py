"""Tokens expire, are limited in their rate, and show when they were last used."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from belated.ledger import Ledger
from belated.ledger.store import now
from belated.service.errors import ApiError
from belated.service.limits import RateLimiter
from belated.service.tokens import create_token
from service.site import Site

SECOND = 1_000_000


class Clock:
    """Time that a test sets."""

    def __init__(self) -> None:
        self.now = now()

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(tmp_path: Path, clock: Clock) -> Iterator[Ledger]:
    with Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}", clock=clock) as opened:
        yield opened


def add(ledger: Ledger, **given: Any) -> tuple[str, str]:
    """Return the id and the text of a new token."""
    made = create_token()
    ledger.tokens.add(made.id, made.hash, scopes=["read"], **given)
    return made.id, made.text


def ask(site: Site, token: str) -> int:
    return site.get("/v1/problems", token=token).status_code


def test_a_token_expires(ledger: Ledger, clock: Clock) -> None:
    _, text = add(ledger, lifetime_s=10)
    _, other = add(ledger)
    with Site(ledger) as site:
        clock.now += 10 * SECOND - 1
        assert (ask(site, text), ask(site, other)) == (200, 200)
        clock.now += 1
        assert (ask(site, text), ask(site, other)) == (401, 200)
        answer = site.get("/v1/problems", token=text)
        assert "expired" in answer.json()["message"]
        assert answer.headers["www-authenticate"] == "Bearer"


def test_an_expired_token_does_not_open_the_service(ledger: Ledger, clock: Clock) -> None:
    _, text = add(ledger, lifetime_s=1)
    clock.now += 2 * SECOND
    with Site(ledger) as site:
        assert site.get("/v1/problems").status_code == 401
        assert ask(site, text) == 401


def test_two_tokens_are_valid_while_one_replaces_the_other(ledger: Ledger, clock: Clock) -> None:
    id, old = add(ledger)
    _, new = add(ledger)
    expiring = ledger.tokens.expire(id, after_s=60)
    assert expiring is not None
    assert expiring.expires == clock.now + 60 * SECOND
    assert ledger.tokens.expire(id, after_s=3600) == expiring  # never later than before
    with Site(ledger) as site:
        assert (ask(site, old), ask(site, new)) == (200, 200)
        clock.now += 60 * SECOND
        assert (ask(site, old), ask(site, new)) == (401, 200)
    assert ledger.tokens.expire(id, after_s=3600) is None
    assert ledger.tokens.expire("nobody", after_s=1) is None


def test_the_last_use_is_written_at_most_once_a_minute(ledger: Ledger, clock: Clock) -> None:
    id, text = add(ledger)
    start = clock.now
    used = []
    for seconds in (0, 59, 60, 119, 120):
        clock.now = start + seconds * SECOND
        with Site(ledger) as site:
            assert ask(site, text) == 200
        # the writes are done when the service has stopped
        token = ledger.tokens.get(id)
        assert token is not None
        assert token.used is not None
        used.append((token.used - start) / SECOND)
    assert used == [0, 0, 60, 60, 120]
    ledger.tokens.touch(id, 1)  # an earlier time, of another process
    assert ledger.tokens.get(id) == token


def test_too_many_requests_with_one_token_wait(ledger: Ledger) -> None:
    (_, one), (_, other) = add(ledger), add(ledger)
    with Site(ledger, max_requests_per_s=0.001) as site:
        assert (ask(site, one), ask(site, one), ask(site, other)) == (200, 429, 200)
        answer = site.get("/v1/problems", token=one)
        assert answer.json()["error"] == "too many requests"
        assert 900 <= int(answer.headers["retry-after"]) <= 1000


def test_requests_are_accepted_at_the_rate_with_bursts_of_a_second() -> None:
    time = 0.0
    limiter = RateLimiter(5, clock=lambda: time)
    rejected: list[Any] = []

    def accepted(count: int) -> int:
        done = 0
        for _ in range(count):
            try:
                limiter.check("one")
            except ApiError as error:
                rejected.append((error.status, error.headers))
            else:
                done += 1
        return done

    assert accepted(10) == 5
    time = 0.2
    assert accepted(10) == 1
    time = 100.0
    assert accepted(10) == 5
    assert rejected == [(429, {"Retry-After": "1"})] * 19


def test_there_is_no_limit_by_default(ledger: Ledger) -> None:
    _, text = add(ledger)
    with Site(ledger) as site:
        assert {ask(site, text) for _ in range(50)} == {200}
