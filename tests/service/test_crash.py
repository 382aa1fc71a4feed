"""Servers are killed under load repeatedly: acknowledged data is recorded exactly once.

BELATED_CRASH=1 makes it long: 20,000 episodes and a dozen kills on each database.
"""

import json
import os
import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from typer.testing import CliRunner

from belated.cli.main import app
from belated.ledger import Ledger
from belated.online.learner_cache import Follower
from ledger_samples import count_rows
from online.conftest import postgres, postgres_url, sqlite_url
from processes import Program
from service.site import CLINIC

__all__ = ["postgres", "postgres_url", "sqlite_url"]

T = TypeVar("T")

BELATED = "from belated.cli.main import main; main()"
CLIENTS = 8
BLOCK = 25
"""Episodes that a client opens before it sends their feedback in random order."""
PATIENCE = 120.0
"""Seconds after which a test that makes no progress fails."""
TAKEOVER = 10.0
"""Seconds in which another process must take over planning."""


class Size(NamedTuple):
    episodes: int
    crashes: int


LONG = os.environ.get("BELATED_CRASH") == "1"
ON_SQLITE = Size(20_000, 12) if LONG else Size(400, 2)
ON_POSTGRES = Size(20_000, 12) if LONG else Size(200, 1)


def played(number: int) -> dict[str, Any]:
    """Feedback of an episode, different for each."""
    return {"states": [0, 1, 1, 0], "actions": [1, 0, number % 2], "rewards": [0, 1, number / 1e5]}


def eventually(true: Callable[[], bool], patience: float = PATIENCE) -> None:
    """Wait until `true()` holds."""
    deadline = time.monotonic() + patience
    while not true():
        assert time.monotonic() < deadline, f"It did not come true within {patience} s."


class Answer(NamedTuple):
    status: int
    body: Any


class Server:
    """Process of `belated serve` that can be killed and restarted, on another port each time."""

    def __init__(self, store: str, log: Path) -> None:
        self._words = ["serve", "--store", store, "--port", "0", "--interval", "0.1"]
        self._log = log
        self.address: tuple[str, int] | None = None
        """Address; None while the process is down."""
        self.start()

    def start(self) -> None:
        """Start the process; return when it listens, which is before it is ready."""
        self._process = Program(BELATED, *self._words, stderr=self._log)
        said = self._process.stdout.readline()
        assert " at http://" in said, self._log.read_text()
        host, _, port = said.split(" at http://")[1].split(";")[0].rpartition(":")
        self.address = host, int(port)

    def kill(self) -> None:
        self.address = None
        self._process.kill()

    def ask(self, method: str, path: str, given: Any = None) -> Answer:
        assert self.address is not None
        connection = HTTPConnection(*self.address, timeout=PATIENCE)
        try:
            return ask(connection, method, path, given)
        finally:
            connection.close()

    @property
    def readiness(self) -> dict[str, Any]:
        body: dict[str, Any] = self.ask("GET", "/readyz").body
        return body


def ask(connection: HTTPConnection, method: str, path: str, given: Any = None) -> Answer:
    """Send one request."""
    body = None if given is None else json.dumps(given).encode()
    connection.request(method, path, body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    return Answer(response.status, json.loads(response.read()))


@contextmanager
def fleet(count: int, store: str, folder: Path) -> Iterator[list[Server]]:
    """Servers on one store; their log may contain only that one plans in place of another."""
    log = folder / "stderr.txt"
    servers: list[Server] = []
    try:
        for _ in range(count):
            servers.append(Server(store, log))
        yield servers
    finally:
        for server in servers:
            server.kill()
    lines = log.read_text().splitlines()
    assert [line for line in lines if not line.endswith("WARNING Planner lock acquired.")] == []


class Load:
    """Work of the clients, and the responses they received."""

    def __init__(self, servers: list[Server], size: Size) -> None:
        self.size = size
        self.begun: list[int] = []
        """Episodes that are open or returned."""
        self.opened: dict[str, set[int]] = defaultdict(set)
        """Versions in the responses, by episode."""
        self.recorded: dict[str, set[int]] = defaultdict(set)
        """Sequence numbers of feedback in the responses, by episode."""
        self.answered = self.broken = self.kills = 0
        """Number of requests by result."""
        self.news = threading.Condition()
        """Lock of all fields."""
        self._servers = servers

    def run(self, crash: Callable[["Load"], None]) -> None:
        """Run all clients; call `crash` at random moments meanwhile."""
        moments = random.Random(7).sample(range(2 * self.size.episodes), self.size.crashes)
        with ThreadPoolExecutor(CLIENTS) as pool:
            clients = [pool.submit(Client(self, number).play) for number in range(CLIENTS)]
            for moment in sorted(moments):
                self._wait(lambda: self.answered > moment or failed(clients))  # noqa: B023
                if failed(clients):
                    break
                crash(self)
        for client in clients:
            client.result()
        print(f"{self.answered} acknowledged, {self.broken} without answer, {self.kills} kills")

    def kill(self, server: Server) -> None:
        self.kills += 1
        server.kill()

    def start(self, server: Server) -> None:
        server.start()
        with self.news:
            self.news.notify_all()

    def addresses(self) -> list[tuple[str, int]]:
        """Return the address of a server that is up, waiting for one."""

        def up() -> list[tuple[str, int]]:
            return [server.address for server in self._servers if server.address is not None]

        return self._wait(up)

    def _wait(self, true: Callable[[], T]) -> T:
        with self.news:
            found = self.news.wait_for(true, PATIENCE)
        assert found, f"It did not come true within {PATIENCE} s."
        return found


def failed(clients: list[Future[None]]) -> bool:
    return any(client.done() and client.exception() for client in clients)


class Client:
    """Client that repeats every request until it is acknowledged, at any server that is up."""

    def __init__(self, load: Load, number: int) -> None:
        self._load = load
        self._mine = range(number, load.size.episodes, CLIENTS)
        self._rng = random.Random(number)
        self._connection: HTTPConnection | None = None

    def play(self) -> None:
        """Open episodes, send their feedback, and repeat feedback of any client."""
        load, rng = self._load, self._rng
        for first in range(0, len(self._mine), BLOCK):
            block = self._mine[first : first + BLOCK]
            for number in block:
                answer = self._send("/v1/problems/clinic/episodes", {"id": id_of(number)})
                with load.news:
                    load.opened[id_of(number)].add(answer["version"])
                    load.begun.append(number)
            outcomes = [*block, *rng.choices(load.begun, k=BLOCK // 2)]
            for number in rng.sample(outcomes, len(outcomes)):
                answer = self._send(f"/v1/episodes/{id_of(number)}/feedback", played(number))
                with load.news:
                    load.recorded[id_of(number)].add(answer["seq"])
        self._close()

    def _send(self, path: str, given: Any) -> Any:
        while True:
            try:
                answer = self._try(path, given)
            except (OSError, HTTPException):
                self._close()
                with self._load.news:
                    self._load.broken += 1
                continue
            if answer.status == 503:
                continue
            assert answer.status in (200, 201), answer
            with self._load.news:
                self._load.answered += 1
                self._load.news.notify_all()
            return answer.body

    def _try(self, path: str, given: Any) -> Answer:
        if self._connection is None:
            address = self._rng.choice(self._load.addresses())
            self._connection = HTTPConnection(*address, timeout=PATIENCE)
        return ask(self._connection, "POST", path, given)

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def id_of(number: int) -> str:
    """Return the id of an episode of a client."""
    return f"episode-{number:014d}"


def define(server: Server, name: str = "clinic") -> None:
    """Define a problem; return when its first policy is published."""
    given = {**CLINIC, "name": name, "episodes": 20_000}
    assert server.ask("POST", "/v1/problems", given).status == 201
    eventually(lambda: server.ask("GET", f"/v1/problems/{name}/policy").status == 200, TAKEOVER)


def settled(server: Server) -> int:
    """Return the number of observed episodes, once no feedback waits."""

    def status() -> dict[str, Any]:
        body: dict[str, Any] = server.ask("GET", "/v1/problems/clinic/status").body
        assert body["failure"] is None
        return body

    eventually(lambda: status()["waiting"] == 0)
    return int(status()["observed"])


def check(store: str, load: Load, episodes: int) -> None:
    """Check that the ledger holds all acknowledged data exactly once, and nothing else."""
    ids = {id_of(number): number for number in range(episodes)}
    with Ledger.open(store) as ledger:
        problem = ledger.problem("clinic")
        assert problem is not None
        opened = list(ledger.events(problem.id, kinds=["opened"]))
        heard = list(ledger.events(problem.id, kinds=["feedback"]))
        learner = Follower(ledger, problem).catch_up().learner
        assert count_rows(ledger).quarantined == 0
    assert Counter(event.episode for event in opened) == Counter(list(ids))
    assert Counter(event.episode for event in heard) == Counter(list(ids))
    assert load.opened == {event.episode: {event.body["version"]} for event in opened}
    assert load.recorded == {event.episode: {event.seq} for event in heard}
    for event in heard:
        assert event.episode is not None
        assert event.body["rewards"] == played(ids[event.episode])["rewards"]
    assert learner.observed == episodes
    said = CliRunner().invoke(app, ["ledger", "verify", "--store", store])
    assert said.exit_code == 0, said.output


def test_acknowledged_data_survives_a_kill_exactly_once(sqlite_url: str, tmp_path: Path) -> None:
    size = ON_SQLITE

    def crash(load: Load) -> None:
        load.kill(server)
        load.start(server)
        if load.kills % 3 == 2:  # again, during its recovery
            load.kill(server)
            load.start(server)

    with fleet(1, sqlite_url, tmp_path) as [server]:
        define(server)
        load = Load([server], size)
        load.run(crash)
        assert settled(server) == size.episodes
    assert load.broken > 0
    check(sqlite_url, load, size.episodes)


def test_another_process_takes_over_when_the_planner_is_killed(
    postgres_url: str, tmp_path: Path
) -> None:
    size = ON_POSTGRES

    def crash(load: Load) -> None:
        eventually(lambda: any(server.readiness["plans"] for server in servers))
        [planner] = [server for server in servers if server.readiness["plans"]]
        [other] = [server for server in servers if server is not planner]
        load.kill(planner)
        eventually(lambda: bool(other.readiness["plans"]), TAKEOVER)
        define(other, f"after-{load.kills}")  # it publishes a policy
        load.start(planner)

    with fleet(2, postgres_url, tmp_path) as servers:
        define(servers[0])
        load = Load(servers, size)
        load.run(crash)
        assert [settled(server) for server in servers] == [size.episodes] * 2
    assert load.broken > 0
    check(postgres_url, load, size.episodes)
