"""The write probe of the store, whose result is cached."""

import sqlite3

from belated.ledger import Ledger
from service.site import Site


def full_disk() -> sqlite3.OperationalError:
    """Return the error of SQLite on a full disk."""
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    error.sqlite_errorname = "SQLITE_FULL"
    return error


def test_a_full_disk_is_reported_at_once_although_the_probe_is_cached(ledger: Ledger) -> None:
    with Site(ledger, write_probe_ttl_s=60.0) as site:
        writes = site.app.state.belated.writes
        before = site.get("/readyz").json()["store"]
        writes.failed(full_disk())
        during = site.get("/readyz").json()
        writes.succeeded()
        assert (before, site.get("/readyz").json()["store"]) == (True, True)
        assert during["store"] is False
        assert "disk full" in during["reasons"][0]
