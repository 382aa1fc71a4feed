"""ASGI middleware of the service: request ids, response headers, metrics and the access log.

The id of a request is sent by the client or created. It is returned in a response header and added
to each log line. The access log, like the metrics, contains no tokens, bodies, subjects or ids.
"""

import logging
import re
import secrets
import time
from contextvars import ContextVar
from typing import Final

from prometheus_client import Counter, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from belated.service.operations.metrics import Metrics

LOG: Final = logging.getLogger("belated.service.access")
SECURITY_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}
ID_HEADER: Final = b"x-request-id"
VALID_ID: Final = re.compile(rb"[A-Za-z0-9._:+/=@-]{1,128}")
"""Regular expression of the ids that are accepted from a client. Other ids are replaced."""

_REQUEST_ID: ContextVar[bytes | None] = ContextVar("belated_request_id", default=None)


def get_request_id() -> str | None:
    """Return the id of the request that is being handled; None outside of requests."""
    id = _REQUEST_ID.get()
    return None if id is None else id.decode()


class RequestMiddleware:
    """ASGI middleware that assigns an id to each request, counts it and adds response headers.

    `SECURITY_HEADERS` and the id are added to the headers of the response; a header that the
    response of `app` already has is kept. The request is counted in `metrics`. All of this is in
    one class, because each further middleware would wrap every message of every response.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics
        # Resolving labels takes longer than counting, so resolved labels are cached.
        self._by_labels: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        # A new id is a random number, the same for all requests, and a counter.
        self._id_prefix = secrets.token_hex(6).encode()
        self._id_number = 0
        self._headers = [
            (name.lower().encode(), value.encode()) for name, value in SECURITY_HEADERS.items()
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, started = 500, time.perf_counter()
        id = dict(scope["headers"]).get(ID_HEADER, b"")
        if VALID_ID.fullmatch(id) is None:
            self._id_number += 1
            id = b"%s-%d" % (self._id_prefix, self._id_number)
        _REQUEST_ID.set(id)

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = [*message.get("headers", ()), (ID_HEADER, id)]
                names = dict(headers)
                headers += [pair for pair in self._headers if pair[0] not in names]
                message["headers"] = headers
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        finally:
            # Unknown paths share one label; otherwise callers could create any number of labels.
            route = getattr(scope.get("route"), "path_format", "other")
            method = scope["method"] if route != "other" else "other"
            self._count(method, route, status, time.perf_counter() - started)

    def _count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count and log a request that was answered; `route` is the pattern of its path."""
        labels = (method, route, status)
        found = self._by_labels.get(labels)
        if found is None:
            metrics = self._metrics
            found = metrics.requests.labels(*labels), metrics.seconds.labels(method, route)
            self._by_labels[labels] = found
        found[0].inc()
        found[1].observe(seconds)
        if LOG.isEnabledFor(logging.INFO):
            extra = {"method": method, "route": route, "status": status, "seconds": seconds}
            LOG.info("%s %s %d %.1f ms", method, route, status, 1000 * seconds, extra=extra)
