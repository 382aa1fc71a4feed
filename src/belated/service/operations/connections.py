"""Limits on the connections of the service: number, idle time, and size and duration of a head.

The head of a request consists of the request line and the headers. With httptools, Uvicorn does not
limit the head, and closes an idle connection only after its first request. `limit_connections`
returns a protocol class that adds these limits. A timer is set only if the received data ends in
the middle of a request, so most requests need none.
"""

import asyncio
import json
from dataclasses import dataclass, replace
from typing import Final, cast

from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from belated.service.errors import RETRY_AFTER_S, error_json
from belated.service.operations.log import LimitLog

RESERVED_FILES: Final = 128
"""Number of open files that are kept free for the store, exports and the log."""


@dataclass(frozen=True)
class ConnectionLimits:
    """Limits on the connections of one process."""

    max_head_bytes: int = 64 << 10
    """Maximum size of the request line and the headers of a request."""
    head_timeout_s: float = 10.0
    """Maximum time in seconds in which a client must send the request line and the headers. It is
    measured from the first byte of the request; for the first request of a connection, from the
    time at which the connection was opened."""
    body_timeout_s: float = 30.0
    """Maximum time in seconds between two parts of the body of a request."""
    keep_alive_s: int = 5
    """Time in seconds after which an idle connection is closed."""
    max_connections: int = 4096
    """Maximum number of connections. When a new one exceeds it, the connection that has waited for
    a request for the longest time is closed; if no other one waits, the new one is closed."""
    max_requests: int = 500
    """Maximum number of requests in progress. A request that exceeds it gets a 503."""

    def restrict_to_open_files(self) -> "ConnectionLimits":
        """Return a copy with `max_connections` reduced to what the limit on open files allows.

        Some files remain free for other uses; see `RESERVED_FILES`.
        """
        try:
            import resource
        except ImportError:  # Windows
            return self
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft == resource.RLIM_INFINITY:
            return self
        possible = max(soft - RESERVED_FILES, soft // 2)
        return replace(self, max_connections=min(self.max_connections, possible))


class LimitedProtocol(HttpToolsProtocol):
    """Uvicorn protocol of one HTTP connection, with limits.

    Subclasses define `limits` and `limit_log`, the log of limits that were exceeded.
    """

    limits: ConnectionLimits
    limit_log: LimitLog
    _in_head = True  # until the head of the next request is complete
    _head_bytes = 0  # size of the incomplete head
    _in_body = False
    _changed_at = 0.0  # time of the connection, the first byte of a head, or a part of a body
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request on the new connection `transport`.

        If there are more than `max_connections`, close the one that has waited for a request for
        the longest time.
        """
        super().connection_made(transport)
        self._served_app = self.app
        self._changed_at = self.loop.time()
        self._start_timer(self.limits.head_timeout_s)
        if len(self.connections) > self.limits.max_connections:
            peers = cast(set[LimitedProtocol], self.connections)
            oldest = min(filter(_is_waiting, peers), key=lambda peer: peer._changed_at)
            message = f"{self.limits.max_connections} connections; closing one that is idle."
            self.limit_log.hit("max_connections", message)
            self.connections.discard(oldest)
            oldest.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer of this connection, which has been closed; `exc` is the error, or None."""
        super().connection_lost(exc)
        self._stop_timer()

    def data_received(self, data: bytes) -> None:
        """Parse `data`, and refuse a request whose head is larger than `max_head_bytes`."""
        limit = self.limits.max_head_bytes
        while data and not self.transport.is_closing():
            # in parts, so that no more than `limit` bytes of a head are parsed
            room = limit - self._head_bytes if self._in_head else len(data)
            part, data = data[:room], data[room:]
            self._head_bytes += len(part)
            super().data_received(part)
            if not self._in_head:
                self._head_bytes = 0
            elif self._head_bytes >= limit:
                self._refuse("max_head_bytes", 431, f"Head of a request larger than {limit} bytes.")
        if self._in_body:
            self._head_bytes = 0
            self._changed_at = self.loop.time()
            self._start_timer(self.limits.body_timeout_s)
        elif self._in_head and self._head_bytes:
            if self._timer is None:
                self._changed_at = self.loop.time()
            self._start_timer(self.limits.head_timeout_s)
        elif self._timer is not None:
            self._stop_timer()

    def on_headers_complete(self) -> None:
        """Start a request, or answer it with a 503 if there are too many requests in progress."""
        self._in_head, self._in_body = False, True
        if len(self.tasks) >= self.limits.max_requests:
            message = f"{self.limits.max_requests} requests in progress; refusing another one."
            self.limit_log.hit("max_requests", message)
            self.app = refuse_overload
        elif self.app is not self._served_app:
            self.app = self._served_app
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Begin to wait for the next request, since the current one was received completely."""
        super().on_message_complete()
        self._in_head, self._in_body, self._head_bytes = True, False, 0

    def on_response_complete(self) -> None:
        """Record the time from which the connection is idle."""
        self._changed_at = self.loop.time()
        super().on_response_complete()

    def _start_timer(self, seconds: float) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(seconds, self._check_time)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check_time(self) -> None:
        """Close the connection if its client sends a request too slowly, else check again later.

        The limits are `head_timeout_s` and `body_timeout_s`. The connection is not closed while the
        service itself does not read from it.
        """
        self._timer = None
        if self.transport.is_closing() or not (self._in_head or self._in_body):
            return
        limits = self.limits
        seconds = limits.body_timeout_s if self._in_body else limits.head_timeout_s
        left = self._changed_at + seconds - self.loop.time()
        # the service does not read while an earlier request, or this one, is in progress
        paused = self.flow.read_paused or (self._in_head and not _is_waiting(self))
        if paused or left > 0:
            self._start_timer(seconds if paused else left)
        elif self._in_head:
            message = f"Head of a request not complete within {seconds:g} s."
            self._refuse("head_timeout_s", 408, message)
        else:
            message = f"Body of a request not continued within {seconds:g} s."
            self._refuse("body_timeout_s", 408, message)

    def _refuse(self, limit: str, status: int, message: str) -> None:
        """Log that the `limit` of this name was exceeded, and close the connection.

        If no response has begun, an error response with `status` and `message` is sent before.
        """
        self.limit_log.hit(limit, message)
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            body = json.dumps(error_json(status, message)).encode()
            head = f"content-type: application/json\r\ncontent-length: {len(body)}\r\n"
            end = b"connection: close\r\n\r\n"
            self.transport.write(STATUS_LINE[status] + head.encode() + end + body)
        self.transport.close()


def _is_waiting(connection: LimitedProtocol) -> bool:
    """Return whether no request on `connection` is in progress."""
    return connection.cycle is None or connection.cycle.response_complete


async def refuse_overload(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request with a 503, because too many requests are in progress."""
    body = json.dumps(error_json(503, "Too many requests in progress. Try again.")).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"retry-after", str(RETRY_AFTER_S).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def limit_connections(limits: ConnectionLimits, log: LimitLog) -> type[LimitedProtocol]:
    """Return a protocol class for uvicorn that enforces `limits` and logs refusals to `log`."""
    return type("LimitedProtocol", (LimitedProtocol,), {"limits": limits, "limit_log": log})
