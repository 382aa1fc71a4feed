"""HTTP client that keeps several connections busy, each with one request at a time."""

import select
import socket
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import quantiles
from typing import Any

CHUNK_BYTES = 1 << 16


@dataclass(frozen=True)
class Load:
    """Rate and latency of many requests."""

    rate: float
    """Responses per second."""
    median_s: float
    """Median of the latency: seconds from the first byte sent to the last one received."""
    p99_s: float
    """99th percentile of the latency in seconds."""
    statuses: Counter[int]
    """Number of responses with each HTTP status."""


class Connection:
    """HTTP connection to a local `port` with at most one request at a time."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = b""
        self._expected = 0
        self._sent_at = 0.0

    def send(self, request: bytes) -> None:
        """Send `request`, the bytes of a whole HTTP request."""
        self._received, self._expected = b"", 0
        self._sent_at = time.perf_counter()
        self.socket.sendall(request)

    def receive(self) -> tuple[int, float] | None:
        """Read available bytes; return status and latency in seconds, or None if incomplete."""
        chunk = self.socket.recv(CHUNK_BYTES)
        if not chunk:
            raise ConnectionError("The service closed a connection.")
        self._received += chunk
        if not self._expected:
            head = self._received.find(b"\r\n\r\n")
            if head < 0:
                return None
            self._expected = head + 4 + body_length(self._received[:head])
        if len(self._received) < self._expected:
            return None
        return int(self._received[9:12]), time.perf_counter() - self._sent_at


def body_length(head: bytes) -> int:
    """Return the Content-Length in the `head` of a response, or 0 if there is none."""
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line[15:])
    return 0


def drive(
    ports: int | Sequence[int], requests: Iterator[bytes], *, connections: int, seconds: float
) -> Load:
    """Send requests for some time, or until there are no more.

    Parameters
    ----------
    ports : int or sequence of int
        Local port of the server, or ports of several servers that share the connections equally.
    requests : iterator of bytes
        Requests, see `request`.
    connections : int
        Number of connections.
    seconds : float
        Duration.

    Returns
    -------
    Load
        Rate and latency of the requests.
    """
    ports = [ports] if isinstance(ports, int) else ports
    pool = [Connection(ports[i % len(ports)]) for i in range(connections)]
    by_file = {connection.socket.fileno(): connection for connection in pool}
    poll: Any = select.epoll()
    statuses: Counter[int] = Counter()
    latencies: list[float] = []
    start = time.perf_counter()
    busy = 0
    for connection, request in zip(pool, requests, strict=False):
        connection.send(request)
        poll.register(connection.socket, select.EPOLLIN)
        busy += 1
    while busy:
        for file, _ in poll.poll(10):
            response = by_file[file].receive()
            if response is None:
                continue
            statuses[response[0]] += 1
            latencies.append(response[1])
            request = next(requests, b"") if time.perf_counter() - start < seconds else b""
            if request:
                by_file[file].send(request)
            else:
                busy -= 1
    duration = time.perf_counter() - start
    poll.close()
    for connection in pool:
        connection.socket.close()
    percentiles = quantiles(latencies, n=100) if len(latencies) > 1 else latencies * 99
    return Load(len(latencies) / duration, percentiles[49], percentiles[98], statuses)


def request(method: str, path: str, body: bytes = b"") -> bytes:
    """Return the bytes of an HTTP request.

    Parameters
    ----------
    method, path : str
        Method and path.
    body : bytes
        JSON body, or nothing.

    Returns
    -------
    bytes
        Head and body.
    """
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    if body:
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"\r\n" + body
