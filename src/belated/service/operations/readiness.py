"""Readiness of the service: write probe of the store, and the reasons why it is not ready."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from belated.ledger.outages import DISK_FULL, OutageLog, describe_outage
from belated.online.host import Host
from belated.service.caches import SingleFlightCache

DISK_FULL_S: Final = 10.0
"""Time in seconds for which the service is not ready after a write failed on a full disk.

The write probe writes little, so it can succeed on a disk that is too full for other writes."""


class WriteProbe:
    """Write probe of the store, with a cached result, for use in one event loop.

    Parameters
    ----------
    write : Callable
        Coroutine function that writes to the store; it raises an exception if this fails or takes
        too long.
    log : OutageLog
        Log of failed writes.
    ttl_s : float
        Time in seconds for which a result is cached.
    """

    def __init__(
        self, write: Callable[[], Awaitable[Any]], log: OutageLog, *, ttl_s: float
    ) -> None:
        self._write = write
        self._log = log
        self._cache: SingleFlightCache[None, str] = SingleFlightCache(ttl_s=ttl_s)

    async def outage(self) -> str | None:
        """Return the reason why the store cannot be written to; None if it can."""
        outage = await self._cache.get(None, self._probe)
        return outage or self._recent_full_disk()  # the result may be older than the error

    async def _probe(self) -> str:
        """Return the reason why the store could not be written to; an empty text if it could."""
        try:
            await self._write()
        except Exception as error:
            self._log.failed(error)
            return str(describe_outage(error))
        outage = self._recent_full_disk()
        if outage is None:
            self._log.succeeded()
        return outage or ""

    def _recent_full_disk(self) -> str | None:
        """Return a description of the error if the last write failed on a full disk, else None.

        An error that occurred more than `DISK_FULL_S` seconds ago is ignored.
        """
        outage = self._log.recent(DISK_FULL_S)
        return str(outage) if outage is not None and outage.reason == DISK_FULL else None


def list_reasons(outage: str | None, host: Host) -> list[str]:
    """Return the reasons why the service is not ready; an empty list if it is ready.

    `outage` is the result of `WriteProbe.outage`, and `host` the host of the service.
    """
    reasons = []
    if outage is not None:
        reasons.append(f"The store cannot be written to: {outage}.")
    if not host.ready:
        reasons.append("The events in the store have not been processed yet.")
    if host.last_error is not None:
        kind = host.last_error.partition(":")[0]  # the message may contain an address
        reasons.append(f"New events could not be processed: {kind}.")
    return reasons
