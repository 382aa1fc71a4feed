"""A client that keeps so many connections busy, each with one request at a time."""

import select
import socket
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import quantiles
from typing import Any

CHUNK = 1 << 16


@dataclass(frozen=True)
class Load:
    """What came of it."""

    rate: float
    """Answers a second."""
    median: float
    """Seconds from the first byte sent to the last one read."""
    slow: float
    """The same, of the slowest in a hundred."""
    statuses: Counter[int]


class Connection:
    """A connection that waits for one answer at a time."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._read = b""
        self._needs = 0
        self._began = 0.0

    def send(self, request: bytes) -> None:
        """Ask."""
        self._read, self._needs = b"", 0
        self._began = time.perf_counter()
        self.socket.sendall(request)

    def receive(self) -> tuple[int, float] | None:
        """The status and how long it took, once the answer is whole."""
        chunk = self.socket.recv(CHUNK)
        if not chunk:
            raise ConnectionError("The service closed a connection.")
        self._read += chunk
        if not self._needs:
            head = self._read.find(b"\r\n\r\n")
            if head < 0:
                return None
            self._needs = head + 4 + body_length(self._read[:head])
        if len(self._read) < self._needs:
            return None
        return int(self._read[9:12]), time.perf_counter() - self._began


def body_length(head: bytes) -> int:
    """What the head of an answer says of its body."""
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line[15:])
    return 0


def drive(port: int, requests: Iterator[bytes], *, connections: int, seconds: float) -> Load:
    """Send requests for so long, or until there are no more."""
    lines = [Connection(port) for _ in range(connections)]
    by_file = {line.socket.fileno(): line for line in lines}
    poll: Any = select.epoll()
    statuses: Counter[int] = Counter()
    taken: list[float] = []
    began = time.perf_counter()
    busy = 0
    for line, request in zip(lines, requests, strict=False):
        line.send(request)
        poll.register(line.socket, select.EPOLLIN)
        busy += 1
    while busy:
        for file, _ in poll.poll(10):
            done = by_file[file].receive()
            if done is None:
                continue
            statuses[done[0]] += 1
            taken.append(done[1])
            request = next(requests, b"") if time.perf_counter() - began < seconds else b""
            if request:
                by_file[file].send(request)
            else:
                busy -= 1
    lasted = time.perf_counter() - began
    poll.close()
    for line in lines:
        line.socket.close()
    cuts = quantiles(taken, n=100) if len(taken) > 1 else taken * 99
    return Load(len(taken) / lasted, cuts[49], cuts[98], statuses)


def request(method: str, path: str, body: bytes = b"", *, kind: str = "application/json") -> bytes:
    """A request as it goes over the wire."""
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    if body:
        head += f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"\r\n" + body
