"""Attacks by SIGKILL: while clients write, and between a request and its response."""

import random
import secrets
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.client import HTTPException

from attacks.registry import Finding, attack
from attacks.service import Response, Service, wait_until
from attacks.testbed import Testbed

CLIENTS = 8
EPISODES = 1200
KILLS = 4
OPENINGS = 400
TIMEOUT_S = 120
OPENING_PATH = "/v1/problems/clinic/episodes"


@dataclass
class Tally:
    """Responses that clients have received."""

    recorded: dict[str, int] = field(default_factory=dict)
    """Number in the reward of each acknowledged feedback, by episode."""
    unanswered: int = 0
    """Requests that were sent and got no response."""
    lock: threading.Lock = field(default_factory=threading.Lock)


@attack("Kills and restarts while clients write")
def kills(testbed: Testbed) -> Iterator[Finding]:
    """Kill the service at random moments; clients repeat what was not acknowledged."""
    tally, moments = Tally(), sorted(random.Random(7).sample(range(EPISODES), KILLS))
    with testbed.serve("--interval", "0.1") as service:
        service.define()

        def play(number: int) -> None:
            id = f"episode-{number:014d}"
            persist(service, tally, OPENING_PATH, {"id": id})
            rewards = {"states": [0, 1, 1, 0], "actions": [1, 0, 1]}
            body = {**rewards, "rewards": [0, 1, number / EPISODES]}
            persist(service, tally, f"/v1/episodes/{id}/feedback", body)
            with tally.lock:
                tally.recorded[id] = number

        with ThreadPoolExecutor(CLIENTS) as pool:
            done = [pool.submit(play, number) for number in range(EPISODES)]
            for moment in moments:
                wait_until(lambda: len(tally.recorded) >= moment, TIMEOUT_S)  # noqa: B023
                service.kill()
                service.start(wait=False)
            for each in done:
                each.result()
        wait_until(lambda: service.status()["waiting"] == 0, TIMEOUT_S)
        observed = service.status()["observed"]
    lost, twice, other = compare(testbed, tally)
    sound = testbed.verify().returncode == 0
    yield Finding(
        f"{len(moments)} times SIGKILL, {EPISODES:,} episodes, {CLIENTS} clients",
        "0 outcomes lost, 0 counted twice, ledger sound",
        f"{lost} lost, {twice} twice, {other} different, {observed:,} learnt; "
        f"{tally.unanswered} requests unanswered; {'sound' if sound else 'not sound'}",
        (lost, twice, other, observed) == (0, 0, 0, EPISODES) and sound,
    )


@attack("Responses to openings that are lost")
def lost_responses(testbed: Testbed) -> Iterator[Finding]:
    """Kill the service between a request with an Idempotency-Key and its response."""
    tally, keys = Tally(), [secrets.token_urlsafe(16) for _ in range(OPENINGS)]
    opened: dict[str, str] = {}
    with testbed.serve() as service:
        service.define()

        def open_episode(key: str) -> None:
            headers = {"Idempotency-Key": key}
            response = persist(service, tally, OPENING_PATH, {}, headers=headers)
            with tally.lock:
                opened[key] = response.json["episode"]

        with ThreadPoolExecutor(CLIENTS) as pool:
            done = [pool.submit(open_episode, key) for key in keys]
            for part in (0.25, 0.6):
                wait_until(lambda: len(opened) >= part * OPENINGS, TIMEOUT_S)  # noqa: B023
                service.kill()
                service.start(wait=False)
            for each in done:
                each.result()
        again = [
            service.ask("POST", OPENING_PATH, {}, headers={"Idempotency-Key": key})
            for key in keys[:50]
        ]
        wait_until(lambda: service.status()["begun"] >= OPENINGS, TIMEOUT_S)
        begun = service.status()["begun"]
    different = sum(r.json["episode"] != opened[key] for r, key in zip(again, keys, strict=False))
    orphans = begun - len(set(opened.values()))
    yield Finding(
        f"2 times SIGKILL, {OPENINGS} openings without an id, each repeated until answered",
        "one episode for each key, none that nobody knows; the same response again",
        f"{begun} episodes, {orphans} unknown; {different} of {len(again)} repeated responses "
        f"different; {tally.unanswered} requests unanswered",
        (begun, orphans, different) == (OPENINGS, 0, 0),
    )


def persist(
    service: Service, tally: Tally, path: str, body: object, headers: dict[str, str] | None = None
) -> Response:
    """Repeat a POST request until it succeeds, and return the response.

    Parameters
    ----------
    service : Service
        The service, which may be down for a while.
    tally : Tally
        Counts requests that were sent and got no response.
    path : str
        Path of the request.
    body : object
        JSON value.
    headers : dict, optional
        Headers to add.

    Returns
    -------
    Response
        Response with status 200 or 201.
    """
    end: list[Response] = []

    def succeeds() -> bool:
        try:
            response = service.ask("POST", path, body, headers=headers, timeout_s=15)
        except ConnectionRefusedError:  # it has not been started again
            return False
        except (OSError, HTTPException):
            with tally.lock:
                tally.unanswered += 1
            return False
        if response.status in (200, 201):
            end.append(response)
        elif response.status != 503:
            raise RuntimeError(f"POST {path} got {response.status}: {response.content[:200]!r}")
        return bool(end)

    wait_until(succeeds, TIMEOUT_S, pause_s=0.05)
    return end[0]


def compare(testbed: Testbed, tally: Tally) -> tuple[int, int, int]:
    """Return the numbers of acknowledged outcomes that are missing, recorded twice, different."""
    with testbed.open_ledger() as ledger:
        problem = ledger.problem("clinic")
        assert problem is not None
        events = list(ledger.events(problem.id, kinds=["feedback"]))
    counts = Counter(event.episode for event in events)
    lost = sum(counts[id] == 0 for id in tally.recorded)
    twice = sum(count > 1 for count in counts.values())
    other = sum(
        event.body["rewards"][2] != tally.recorded[event.episode or ""] / EPISODES
        for event in events
    )
    return lost, twice, other
