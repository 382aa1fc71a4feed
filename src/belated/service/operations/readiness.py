"""Readiness of the service: write probe of the store, and the reasons why it is not ready."""

from functools import partial
from typing import Final

from belated.ledger.outages import DISK_FULL, OutageLog, describe_outage
from belated.online.host import Host
from belated.service.state import AppState

DISK_FULL_S: Final = 10.0
"""Time in seconds for which the service is not ready after a write failed on a full disk.

The write probe writes little, so it can succeed on a disk that is too full for other writes."""


async def find_write_outage(state: AppState) -> str | None:
    """Return the reason why the store of `state` cannot be written to; None if it can.

    The result of a write is cached for `write_probe_ttl_s` seconds.
    """
    outage = await state.write_outages.get(None, partial(_probe, state))
    return outage or _recent_full_disk(state.writes)  # the result may be older than the error


async def _probe(state: AppState) -> str:
    """Return the reason why the store could not be written to; an empty text if it could."""
    try:
        await state.probe_threads.run(state.ledger.store.probe)
    except Exception as error:
        state.writes.failed(error)
        return str(describe_outage(error))
    outage = _recent_full_disk(state.writes)
    if outage is None:
        state.writes.succeeded()
    return outage or ""


def _recent_full_disk(writes: OutageLog) -> str | None:
    """Return a description of the error if the last write failed on a full disk, else None.

    An error that occurred more than `DISK_FULL_S` seconds ago is ignored.
    """
    outage = writes.recent(DISK_FULL_S)
    return str(outage) if outage is not None and outage.reason == DISK_FULL else None


def list_reasons(outage: str | None, host: Host) -> list[str]:
    """Return the reasons why the service is not ready; an empty list if it is ready.

    `outage` is the result of `find_write_outage`, and `host` the host of the service.
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
