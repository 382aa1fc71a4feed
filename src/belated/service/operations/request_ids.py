"""Ids of requests: accepted from the client or created, returned, and part of each log line."""

import re
import secrets
from collections.abc import Iterable
from contextvars import ContextVar
from typing import Final

HEADER: Final = b"x-request-id"
VALID: Final = re.compile(rb"[A-Za-z0-9._:+/=@-]{1,128}")
"""Ids that are accepted from a client. Any other id is replaced by a new one."""

_REQUEST_ID: ContextVar[bytes | None] = ContextVar("belated_request_id", default=None)


def get_request_id() -> str | None:
    """Return the id of the request that is being handled; None outside of requests."""
    id = _REQUEST_ID.get()
    return None if id is None else id.decode()


class RequestIds:
    """Source of the ids of requests, for use in one event loop.

    A new id is a random number of this process, followed by the number of the request.
    """

    def __init__(self) -> None:
        self._prefix = secrets.token_hex(6).encode()
        self._number = 0

    def assign(self, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
        """Return the id of the request with these `headers`, and make it the current one."""
        id = None
        for name, value in headers:
            if name == HEADER:
                id = value
        if id is None or VALID.fullmatch(id) is None:
            self._number += 1
            id = b"%s-%d" % (self._prefix, self._number)
        _REQUEST_ID.set(id)
        return id
