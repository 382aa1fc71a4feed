"""Ids of requests: accepted from the client or created, returned, and part of each log line."""

import itertools
import re
import secrets
from collections.abc import Iterable
from contextvars import ContextVar
from typing import Final

HEADER: Final = b"x-request-id"
VALID: Final = re.compile(rb"[A-Za-z0-9._:+/=@-]{1,128}")
"""Ids that are accepted from a client. Any other id is replaced by a new one."""

REQUEST_ID: ContextVar[str | None] = ContextVar("belated_request_id", default=None)
"""Id of the request that is being handled; None outside of requests."""


class RequestIds:
    """Source of the ids of requests.

    A new id is a random number of this process, followed by the number of the request.
    """

    def __init__(self) -> None:
        self._prefix = secrets.token_hex(6)
        self._numbers = itertools.count(1)

    def assign(self, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
        """Return the id of the request with these `headers`, and set `REQUEST_ID` to it."""
        id = b""
        for name, value in headers:
            if name == HEADER:
                id = value
        if VALID.fullmatch(id) is None:
            id = f"{self._prefix}-{next(self._numbers)}".encode()
        REQUEST_ID.set(id.decode())
        return id
