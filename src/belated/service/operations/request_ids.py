"""Ids of requests: accepted from the client or created, returned, and part of each log line."""

import itertools
import re
import secrets
from contextvars import ContextVar
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADER: Final = b"x-request-id"
VALID: Final = re.compile(rb"[A-Za-z0-9._:+/=@-]{1,128}")
"""Ids that are accepted from a client. Any other id is replaced by a new one."""

REQUEST_ID: ContextVar[str | None] = ContextVar("belated_request_id", default=None)
"""Id of the request that is being handled; None outside of requests."""


class RequestIdMiddleware:
    """ASGI middleware that gives each request to `app` an id.

    A new id is a random number of this process, followed by the number of the request.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._prefix = secrets.token_hex(6)
        self._numbers = itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        id = next((value for name, value in scope["headers"] if name == HEADER), None)
        if id is None or VALID.fullmatch(id) is None:
            id = f"{self._prefix}-{next(self._numbers)}".encode()
        REQUEST_ID.set(id.decode())

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), (HEADER, id)]
            await send(message)

        await self._app(scope, receive, send_with_id)
