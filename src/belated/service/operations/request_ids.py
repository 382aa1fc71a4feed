"""Ids of requests.

The id of a request is sent by the client or created. It is returned in a response header and added
to each log line.
"""

import re
import secrets
from collections.abc import Iterable
from contextvars import ContextVar
from typing import Final

HEADER: Final = b"x-request-id"
VALID: Final = re.compile(rb"[A-Za-z0-9._:+/=@-]{1,128}")
"""Regular expression of the ids that are accepted from a client. Other ids are replaced."""

_REQUEST_ID: ContextVar[bytes | None] = ContextVar("belated_request_id", default=None)


def get_request_id() -> str | None:
    """Return the id of the request that is being handled; None outside of requests."""
    id = _REQUEST_ID.get()
    return None if id is None else id.decode()


class RequestIds:
    """Source of the ids of requests, for use in one event loop.

    A new id is a random number, the same for all requests of this object, and a counter.
    """

    def __init__(self) -> None:
        self._prefix = secrets.token_hex(6).encode()
        self._number = 0

    def assign(self, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
        """Return the id of the request with these `headers`.

        It is the id in the header X-Request-ID if this is valid, otherwise a new one. From now on,
        `get_request_id` returns it in this request.
        """
        id = None
        for name, value in headers:
            if name == HEADER:
                id = value
        if id is None or VALID.fullmatch(id) is None:
            self._number += 1
            id = b"%s-%d" % (self._prefix, self._number)
        _REQUEST_ID.set(id)
        return id
