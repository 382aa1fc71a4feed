"""The write probe of the store, whose result is cached."""

import asyncio
import sqlite3

from belated.ledger.outages import OutageLog
from belated.service.operations.readiness import WriteProbe


def full_disk() -> sqlite3.OperationalError:
    """Return the error of SQLite on a full disk."""
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    error.sqlite_errorname = "SQLITE_FULL"
    return error


def test_a_full_disk_is_reported_at_once_although_the_probe_is_cached() -> None:
    log = OutageLog("writing")
    probes = []

    async def write() -> None:
        probes.append(1)

    async def ask() -> list[str | None]:
        probe = WriteProbe(write, log, ttl_s=60.0)
        before = await probe.outage()
        log.failed(full_disk())
        during = await probe.outage()
        log.succeeded()
        return [before, during, await probe.outage()]

    before, during, after = asyncio.run(ask())
    assert (before, after) == (None, None)
    assert during is not None
    assert "disk full" in during
    assert len(probes) == 1
