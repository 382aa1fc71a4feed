"""ASGI middleware of the service: request ids, response headers, metrics and the access log."""

import time
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from belated.service.metrics import Metrics
from belated.service.operations.request_ids import HEADER, RequestIds

SECURITY_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}


class RequestMiddleware:
    """ASGI middleware that assigns an id to each request, counts it and adds response headers.

    `SECURITY_HEADERS` and the id are added to the headers of the response; a header that the
    response of `app` already has is kept. The request is counted in `metrics`. All of this is in
    one class, because each further middleware would wrap every message of every response.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics
        self._ids = RequestIds()
        self._headers = [
            (name.lower().encode(), value.encode()) for name, value in SECURITY_HEADERS.items()
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        id, status, started = self._ids.assign(scope["headers"]), 500, time.perf_counter()

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = [*message.get("headers", ()), (HEADER, id)]
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
            self._metrics.count_request(method, route, status, time.perf_counter() - started)
