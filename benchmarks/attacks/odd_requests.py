"""Attacks with odd content: values, duplicate keys, paths, methods, and times."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from attacks.client import ask_together, count_statuses, format_statuses
from attacks.registry import SQLITE, Finding, attack
from attacks.service import CLINIC, PLAYED, Response, Service, wait_until
from attacks.testbed import Testbed
from belated.ledger.kinds import Opened
from belated.ledger.store import now

ODD_VALUES: list[str] = [
    "null", "true", "[]", "{}", '""', '"x"', "-1", "1.5", "1e999", "-1e999", "NaN", "Infinity",
    "2147483648", "9223372036854775808", "1" * 400, '"\\u0000"', '"\\ud800"', '"%s"' % ("x" * 5000),
    "[" * 2000 + "]" * 2000, '{"a": {"b": [null]}}',
]  # fmt: skip
"""JSON texts of values that no field expects, or only few."""

DEFINITION_FIELDS = ("name", "states", "actions", "horizon", "rewards", "base", "updater", "seed")
FEEDBACK_FIELDS = ("states", "actions", "rewards", "steps", "event_time")
OPENING_FIELDS = ("id", "subject", "event_time")

RAW_BODIES = [
    b"", b"{", b"null", b"[]", b'"x"', b"\xff\xfe", b"\x00" * 100, b"{}" * 10, b"{'a': 1}",
    b"\xef\xbb\xbf{}",
]  # fmt: skip
"""Bodies that are no JSON object."""

DUPLICATES = [
    ("/v1/problems/clinic/episodes", '{"subject": "a", "subject": "b"}'),
    ("/v1/problems/clinic/rollback", '{"version": 1, "version": 2}'),
    ("/v1/problems/clinic/decide", '{"state": "ill", "step": 0, "step": 1}'),
    ("/v1/episodes/{id}/feedback", '{"states": [0, 0, 0, 0], "states": [1, 1, 1, 1]}'),
    ("/v1/episodes/{id}/feedback", '{"reward\\u0073": {"0": 1}, "rewards": {"1": 0}}'),
    ("/v1/episodes/{id}/correction", '{"rewards": {"0": 1, "0": 0}}'),
]
"""Requests in which a key occurs twice."""

CONTROL_CHARACTERS = ["%00", "%0A", "%0D", "%1F", "%7F", "%09", "a%0Ab", "%C2%85", "%E2%80%A8"]
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
JUMP_YEARS = 30
STEADY_EVENTS = 200
YEAR_US = 365 * 86_400 * 1_000_000
TIMEOUT_S = 60


@attack("Odd values")
def odd_values(testbed: Testbed) -> Iterator[Finding]:
    """Send an odd value in each field of definitions, openings and feedback."""
    with testbed.serve() as service:
        service.define()
        episode = service.open()
        requests = list(list_odd_requests(episode))
        responses = ask_together(
            lambda request: service.try_ask("POST", request[0], request[1]), requests, threads=8
        )
        alive = service.send_feedback(service.open()).status
        tracebacks = service.count_logged(message="Traceback") + service.count_logged(level="error")
    statuses = count_statuses(responses)
    bad = [status for status in statuses if status >= 500 or status == 0]
    yield Finding(
        f"{len(requests)} requests",
        "each is answered, none with 5xx; nothing logged as an error",
        f"{format_statuses(statuses)}; {tracebacks} errors logged; afterwards {alive}",
        not bad and tracebacks == 0 and alive == 201,
    )


@attack("Duplicate keys, control characters, methods", stores=(SQLITE,))
def strictness(testbed: Testbed) -> Iterator[Finding]:
    """Send duplicate keys, control characters in paths, and methods that a path does not have."""
    with testbed.serve() as service:
        service.define()
        episode = service.open()
        twice = [
            service.ask("POST", path.format(id=episode), body.encode()) for path, body in DUPLICATES
        ]
        odd_paths = [
            service.ask("DELETE", f"{prefix}/{text}")
            for prefix in ("/v1/subjects", "/v1/problems/clinic/subjects")
            for text in CONTROL_CHARACTERS
        ]
        odd_names = [
            service.ask("GET", f"/v1/problems/{text}/status") for text in CONTROL_CHARACTERS
        ]
        wrong = check_methods(service)
    yield Finding(
        f"{len(twice)} bodies with a key that occurs twice",
        "422 that names the key",
        describe(twice),
        all(r.status == 422 and "duplicate key" in r.json["message"] for r in twice),
    )
    yield Finding(
        f"{len(odd_paths) + len(odd_names)} paths with control characters",
        "422 with the field for subjects, 404 or 422 for problems",
        describe([*odd_paths, *odd_names]),
        all(r.status == 422 and r.json["field"] == "subject" for r in odd_paths)
        and all(r.status in (404, 422) for r in odd_names),
    )
    yield Finding(
        f"{len(METHODS)} methods on each path",
        "405 with the right Allow for methods that a path does not have",
        "; ".join(wrong[:3]) or "0 wrong",
        not wrong,
    )


@attack("Jump of the clock")
def clock_jump(testbed: Testbed) -> Iterator[Finding]:
    """Record one event by a clock that is years ahead, and one with a wrong `event_time`."""
    with testbed.serve() as service:
        service.define()
        first = [service.open() for _ in range(STEADY_EVENTS)]
        problem = None
        with testbed.open_ledger(clock=lambda: now() + JUMP_YEARS * YEAR_US) as ledger:
            problem = ledger.problem("clinic")
            assert problem is not None
            ledger.append([Opened(problem.id, 1)])
        service.open(event_time="1971-01-01T00:00:00Z")
        for id in first:
            service.send_feedback(id)
        wait_until(lambda: service.status()["observed"] == STEADY_EVENTS, TIMEOUT_S)
        history = service.ask("GET", "/v1/problems/clinic/history").json
    widths = {name: float(history[name]["width"]) for name in ("times", "arrivals")}
    limit = 60.0
    yield Finding(
        f"one event {JUMP_YEARS} years ahead and one in 1971, among {2 * STEADY_EVENTS}",
        f"bins of the history at most {limit:g} s wide",
        ", ".join(f"{name}: {width:g} s" for name, width in widths.items()),
        max(widths.values()) <= limit,
    )


def list_odd_requests(episode: str) -> Iterator[tuple[str, bytes]]:
    """Yield paths and bodies: each field with odd values in turn, and bodies that are no JSON."""
    feedback = f"/v1/episodes/{episode}/feedback"
    for fields, path, body in (
        (DEFINITION_FIELDS, "/v1/problems", CLINIC),
        (FEEDBACK_FIELDS, feedback, PLAYED),
        (OPENING_FIELDS, "/v1/problems/clinic/episodes", {}),
    ):
        for number, field in enumerate(fields):
            # every value occurs in every request, though not in every field
            for value in ODD_VALUES[number % 2 :: 2]:
                yield path, replace(body, field, value)
    for path in ("/v1/problems", feedback, "/v1/problems/clinic/decide"):
        for raw in RAW_BODIES:
            yield path, raw


def replace(body: dict[str, Any], field: str, value: str) -> bytes:
    """Return the JSON text of `body` with the JSON text `value` in `field`."""
    parts = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in body.items() if k != field]
    return f"{{{', '.join([*parts, f'{json.dumps(field)}: {value}'])}}}".encode()


def describe(responses: list[Response]) -> str:
    """Return the number of responses by status as text."""
    return format_statuses(count_statuses(responses))


def check_methods(service: Service) -> list[str]:
    """Return what is wrong about the responses to methods that paths do not have."""
    wrong = []
    paths: dict[str, Any] = service.ask("GET", "/openapi.json").json["paths"]
    for template, operations in paths.items():
        known = {method.upper() for method in operations}
        known |= {"HEAD"} if template in ("/healthz", "/readyz") else set()
        path = template.replace("{problem}", "clinic").replace("{version}", "1")
        path = path.replace("{episode}", "e" * 22).replace("{subject}", quote("p 17"))
        for method in METHODS:
            if method in known:
                continue
            response = service.ask(method, path)
            allow = set(response.headers.get("allow", "").split(", "))
            if response.status != 405 or allow != known:
                wrong.append(f"{method} {template}: {response.status}, Allow {sorted(allow)}")
    return wrong
