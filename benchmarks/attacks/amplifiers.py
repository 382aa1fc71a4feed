"""Attacks with requests that are small to send and expensive to answer."""

import json
from collections.abc import Iterator
from typing import Any

from attacks.client import Watcher, ask_together, count_statuses, format_statuses
from attacks.registry import SQLITE, Finding, attack, list_times
from attacks.service import CLINIC, Response, Service
from attacks.testbed import Testbed
from belated.ledger.events import NewEvent, Recorded
from belated.ledger.kinds import Feedback

EXPORTS = 12
EXPORTED_EPISODES = 30_000
BATCH_EPISODES = 1000
MAX_WAIT_S = 2.0
NAMES_BYTES = 614_000
MAX_NAMES_S = 5.0
BLANK_LINES = 200_000
CELLS_LIMIT = 3_000_000
NDJSON = {"Content-Type": "application/x-ndjson"}


@attack("Exports beside status requests")
def exports(testbed: Testbed) -> Iterator[Finding]:
    """Request many Parquet exports at once, while a client reads the status."""
    with testbed.serve() as service:
        service.define()
        record_episodes(testbed)
        path = "/v1/problems/clinic/status"
        service.ask("GET", path)  # folds the new events
        with Watcher(service, lambda: service.try_ask("GET", path)) as watcher:
            responses = ask_together(
                lambda _: service.try_ask("GET", "/v1/problems/clinic/events.parquet"),
                range(EXPORTS),
            )
    refused = [response for response in responses if response.status == 429]
    told = all("retry-after" in response.headers for response in refused)
    longest = max(response.seconds for response in responses)
    yield Finding(
        f"{EXPORTS} exports of {EXPORTED_EPISODES:,} episodes at once",
        f"status within {MAX_WAIT_S:g} s; at most 4 exports, else 429 with Retry-After",
        f"status within {watcher.longest_s:.2f} s ({format_statuses(watcher.statuses)}); exports: "
        f"{format_statuses(count_statuses(responses))}, longest {longest:.1f} s",
        watcher.failed == 0
        and watcher.longest_s <= MAX_WAIT_S
        and {response.status for response in responses} == {200, 429}
        and told,
    )


@attack("Definition with very many names", stores=(SQLITE,))
def many_names(testbed: Testbed) -> Iterator[Finding]:
    """Define a problem with names of states and actions that fill the largest body."""
    count = NAMES_BYTES // 10
    body = {**CLINIC, "horizon": 1, "name": "names", "states": [f"s{i:05}" for i in range(count)]}
    body["actions"] = [f"s{i:05}" for i in range(2)]
    twice = {**body, "name": "twice", "states": [*body["states"][:-1], "s00000"]}
    for title, definition in (("different names", body), ("one name twice", twice)):
        data = json.dumps(definition).encode()
        with testbed.serve(log=f"{definition['name']}.txt") as service:
            service.define()
            with Watcher(service) as watcher:
                response = service.try_ask("POST", "/v1/problems", data)
        expected, measured, held = list_times(expected=MAX_NAMES_S, measured=response.seconds)
        yield Finding(
            f"{len(data) >> 10:,} KiB, {count:,} states, {title}",
            f"answered in {expected}; others wait at most {MAX_WAIT_S:g} s",
            f"{response.status} in {measured}; others waited {watcher.longest_s:.2f} s",
            held
            and response.status in (201, 422)
            and watcher.failed == 0
            and watcher.longest_s <= MAX_WAIT_S,
        )


@attack("Blank lines in a bulk request", stores=(SQLITE,))
def blank_lines(testbed: Testbed) -> Iterator[Finding]:
    """Send more blank lines than a bulk request may have, and one line that does not end."""
    path = "/v1/problems/clinic/feedback"
    with testbed.serve() as service:
        service.define()
        with Watcher(service) as watcher:
            blank = service.try_ask("POST", path, b"\n" * BLANK_LINES, headers=NDJSON)
            spaces = service.try_ask("POST", path, b" " * (8 << 20), headers=NDJSON)
    yield Finding(
        f"{BLANK_LINES:,} blank lines; a line of 8 MiB of spaces",
        f"413; others wait at most {MAX_WAIT_S:g} s",
        f"{blank.status or 'closed'}, {spaces.status or 'closed'} in "
        f"{max(blank.seconds, spaces.seconds):.2f} s; others waited {watcher.longest_s:.2f} s",
        {blank.status, spaces.status} <= {413, 0}
        and blank.status == 413
        and watcher.failed == 0
        and watcher.longest_s <= MAX_WAIT_S,
    )


@attack("Huge definitions", stores=(SQLITE,))
def huge_definitions(testbed: Testbed) -> Iterator[Finding]:
    """Define problems of the largest size until they are refused."""
    with testbed.serve("--max-total-cells", str(CELLS_LIMIT)) as service:
        service.define()
        with Watcher(service) as watcher:
            single = define(service, "too-large", states=2000, actions=1100)
            each = [define(service, f"large-{i}", states=500, actions=1000) for i in range(4)]
            nested = service.try_ask("POST", "/v1/problems", b"[" * (1 << 19))
            rewards = service.try_ask("POST", "/v1/problems", large_rewards())
        memory = resident_mb(service.pid)
    statuses = [response.status for response in each]
    sentence = each[-1].json.get("message", "")
    yield Finding(
        f"a problem of 2.2 million cells; 4 of a million, limit {CELLS_LIMIT:,}; 512 Ki brackets; "
        "a reward table of 1 MB",
        f"422 beyond the limits, with a sentence; others wait at most {MAX_WAIT_S:g} s",
        f"{single.status}; {statuses}: {sentence[:80]!r}; {nested.status}; {rewards.status}; "
        f"others waited {watcher.longest_s:.2f} s; {memory:.0f} MB",
        single.status == 422
        and statuses == [201, 201, 422, 422]
        and "must be at most" in sentence
        and nested.status == 422
        and rewards.status in (201, 413, 422)
        and watcher.failed == 0
        and watcher.longest_s <= MAX_WAIT_S,
    )


def record_episodes(testbed: Testbed) -> None:
    """Record many episodes with feedback, directly in the ledger."""
    body = {"states": [0, 0, 1, 1], "actions": [0, 0, 1], "rewards": [0, 0.5, 1]}
    with testbed.open_ledger() as ledger:
        problem = ledger.problem("clinic")
        assert problem is not None
        for _ in range(EXPORTED_EPISODES // BATCH_EPISODES):
            events: list[NewEvent] = []
            for outcome in ledger.open_episodes(problem.id, BATCH_EPISODES, version=1):
                assert isinstance(outcome, Recorded)
                assert outcome.episode is not None
                events.append(Feedback(outcome.episode.id, body))
            ledger.append(events)


def define(service: Service, name: str, *, states: int, actions: int) -> Response:
    """Define a problem with many states and actions, and return the response."""
    body: dict[str, Any] = {**CLINIC, "name": name, "horizon": 2 if states < 1000 else 1}
    body |= {
        "states": [f"s{i}" for i in range(states)],
        "actions": [f"a{i}" for i in range(actions)],
    }
    return service.try_ask("POST", "/v1/problems", body, timeout_s=120)


def large_rewards() -> bytes:
    """Return a definition whose table of rewards fills the largest body."""
    states = 1000
    body = {**CLINIC, "name": "rewards", "horizon": 1, "states": [f"s{i}" for i in range(states)]}
    body["actions"] = [f"a{i}" for i in range(250)]
    body["rewards"] = [[0] * 250] * states
    return json.dumps(body).encode()


def resident_mb(pid: int) -> float:
    """Return the memory of a process in MB."""
    from processes import memory_mb

    return float(memory_mb(pid)["now"])
