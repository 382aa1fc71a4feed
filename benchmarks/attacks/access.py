"""Attacks on access: credentials, expired and limited tokens, forwarded requests, passwords."""

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa

from attacks.client import ask_together, count_statuses, format_statuses
from attacks.registry import POSTGRESQL, SQLITE, Finding, attack
from attacks.service import Response, Service, wait_until
from attacks.testbed import Testbed
from belated.ledger import Ledger
from belated.service.tokens import SCOPES, create_token

RATE = 20
RATE_REQUESTS = 300
PASSWORD = "correct-horse-battery"
TOKEN_CACHE_S = 10.0
"""Maximum time in which the service sees a change of tokens; it caches them for a second."""

FORWARDED = [
    {"Forwarded": "for=192.0.2.60;proto=http"},
    {"X-Forwarded-For": "192.0.2.60"},
    {"X-Forwarded-Host": "example.org"},
    {"X-Forwarded-Proto": "https"},
    {"x-FORWARDED-server": "proxy"},
    {"Via": "1.1 proxy"},
    {"Host": "example.org"},
    {"Host": "192.0.2.60:8000"},
    {"Host": "localhost.example.org"},
    {"Origin": "http://example.org"},
    {"Origin": "http://localhost:1"},
    {"Origin": "http://127.0.0.1:1"},
    {"Origin": "https://127.0.0.1:{port}"},
    {"Origin": "null"},
    {"Origin": ""},
]
"""Headers of requests that do not come from this machine, or not from the service's own page."""


class Operation(NamedTuple):
    """Method and path that need a token, and the scope that it needs."""

    method: str
    path: str
    scope: str


@attack("Open mode behind a proxy", stores=(SQLITE,))
def open_mode(testbed: Testbed) -> Iterator[Finding]:
    """Send requests with headers of a proxy, another host or another page, without a token."""
    requests = [
        ("GET", "/v1/problems"),
        ("POST", "/v1/problems/clinic/freeze"),
        ("POST", "/v1/problems/clinic/episodes"),
        ("GET", "/metrics"),
    ]
    with testbed.serve() as service:
        service.define()
        own = {"Origin": f"http://127.0.0.1:{service.port}"}
        before = service.status()
        responses = [
            service.ask(
                method,
                path,
                headers={key: text.format(port=service.port) for key, text in each.items()},
            )
            for each in FORWARDED
            for method, path in requests
        ]
        unchanged = service.status()["serving"] == before["serving"]
        unchanged &= service.status()["begun"] == before["begun"]
        page = service.ask("POST", "/v1/problems/clinic/freeze", headers=own).status
    statuses = count_statuses(responses)
    yield Finding(
        f"{len(responses)} requests with Forwarded, X-Forwarded-*, Via, Host or Origin",
        "403 without effect; the service's own page is served",
        f"{format_statuses(statuses)}, {'no effect' if unchanged else 'effect'}; own page: {page}",
        set(statuses) == {403} and unchanged and page == 200,
    )


def is_denied(operation: Operation, response: Response) -> bool:
    """Return whether a request got nothing, or a list of problems without the one attacked."""
    if (operation.method, operation.path) == ("GET", "/v1/problems") and response.status == 200:
        return b"clinic" not in response.content
    return response.status in (401, 403, 404)


@attack("Bad credentials")
def bad_credentials(testbed: Testbed) -> Iterator[Finding]:
    """Send requests for each route with missing, wrong, expired and insufficient tokens."""
    with testbed.serve() as service:
        service.define()
        service.define("other")
        episode = service.open()
        operations = list_operations(service, episode)
        with testbed.open_ledger() as ledger:
            headers = make_credentials(ledger)
            wait_for_tokens(service)
            before = ledger.last
            statuses: Counter[int] = Counter()
            accepted: list[str] = []
            for name, value, allowed in headers:
                chosen = [each for each in operations if each.scope != allowed]
                responses = ask_together(
                    lambda each, value=value: ask_as(service, each, value),  # type: ignore[misc]
                    chosen,
                    threads=8,
                )
                statuses += count_statuses(responses)
                accepted += [
                    f"{name}: {each.method} {each.path}"
                    for each, response in zip(chosen, responses, strict=True)
                    if not is_denied(each, response)
                ]
            changed = ledger.last - before
    yield Finding(
        f"{statuses.total()} requests: {len(operations)} operations, {len(headers)} credentials",
        "401, 403 or 404, or a list without the problem; nothing recorded",
        f"{format_statuses(statuses)}; {changed} events"
        + (f"; accepted: {', '.join(accepted[:3])}" if accepted else ""),
        not accepted and changed == 0,
    )


@attack("Expired and rolled tokens")
def expired_tokens(testbed: Testbed) -> Iterator[Finding]:
    """Use a token after its expiry, and both tokens of a rotation."""
    with testbed.serve() as service:
        service.define()
        with testbed.open_ledger() as ledger:
            short = add_token(ledger, ["read"], lifetime_s=4)
            old = add_token(ledger, ["read"])
        new = testbed.command("token", "roll", old.split("_")[1], "--overlap", "1h").stdout.strip()
        wait_for_tokens(service)
        both = [ask_as_reader(service, token).status for token in (old, new)]
        expiry = wait_until(lambda: ask_as_reader(service, short).status == 401, 30)
        with testbed.open_ledger() as ledger:
            ledger.tokens.revoke(old.split("_")[1])
        revoked = wait_until(lambda: ask_as_reader(service, old).status == 401, 30)
        alone = [ask_as_reader(service, token).status for token in (old, new)]
        listed = testbed.command("token", "list").stdout
    hidden = not any(token in listed for token in (short, old, new))
    yield Finding(
        "a token of 4 s; a rotation with an overlap; the old one revoked",
        "both tokens valid in the overlap; 401 after expiry, and within 5 s of a revocation",
        f"in the overlap {both}; 401 after expiry, and {revoked:.1f} s after the revocation; then "
        f"{alone}; {'no secret' if hidden else 'a secret'} in `token list`",
        both == [200, 200] and alone == [401, 200] and expiry < 10 and revoked <= 5 and hidden,
    )


@attack("Too many requests with one token", stores=(SQLITE,))
def rate_limit(testbed: Testbed) -> Iterator[Finding]:
    """Send requests faster than the rate limit allows."""
    with testbed.serve("--rate-limit", str(RATE)) as service:
        service.define()
        with testbed.open_ledger() as ledger:
            greedy, other = add_token(ledger, ["read"]), add_token(ledger, ["read"])
        wait_for_tokens(service)
        start = time.perf_counter()
        responses = ask_together(lambda _: ask_as_reader(service, greedy), range(RATE_REQUESTS))
        seconds = time.perf_counter() - start
        unaffected = ask_as_reader(service, other).status
    statuses = count_statuses(responses)
    allowed = RATE * (1 + seconds) + 1
    told = all("retry-after" in r.headers for r in responses if r.status == 429)
    yield Finding(
        f"{RATE_REQUESTS} requests in {seconds:.1f} s, limit {RATE} per second",
        f"at most {allowed:.0f} accepted, else 429 with Retry-After; other tokens unaffected",
        f"{format_statuses(statuses)}; another token: {unaffected}",
        set(statuses) == {200, 429} and statuses[200] <= allowed and told and unaffected == 200,
    )


@attack("Password in the list of processes", stores=(POSTGRESQL,))
def password_in_processes(testbed: Testbed) -> Iterator[Finding]:
    """Search command lines, output and log for the password of PostgreSQL."""
    url = sa.make_url(testbed.store).set(password=PASSWORD)
    store = url.render_as_string(hide_password=False)
    secret = testbed.folder / "secret"
    secret.write_text(store)
    with testbed.serve(store="", environment={"BELATED_STORE_FILE": str(secret)}) as service:
        service.define()
        with testbed.postgres.down():
            failed = service.try_ask("POST", "/v1/problems/clinic/episodes")
        wait_until(lambda: service.try_ask("GET", "/readyz").status == 200, 60)
        shown = sum(PASSWORD in text for text in command_lines())
        said = [failed.content.decode(), service.log.read_text()]
        said.append(service.ask("GET", "/metrics").content.decode())
    logged = sum(PASSWORD in text for text in said)
    yield Finding(
        "the address of the store, with a password, in a file; PostgreSQL crashes",
        "the password is in no command line, response or log",
        f"in {shown} command lines, {logged} responses or logs; {failed.status} meanwhile",
        shown == logged == 0,
    )


def list_operations(service: Service, episode: str) -> list[Operation]:
    """Return all operations that need a token, for the problem clinic and an `episode` of it."""
    values = {
        "problem": "clinic",
        "episode": episode,
        "subject": "p-17",
        "version": "1",
        "subject:text": "p-17",
    }
    paths: dict[str, Any] = service.ask("GET", "/openapi.json").json["paths"]
    found = []
    for template, methods in paths.items():
        path = template
        for name, value in values.items():
            path = path.replace(f"{{{name}}}", value)
        for method, operation in methods.items():
            if security := operation.get("security"):
                found.append(Operation(method.upper(), path, security[0]["token"][0]))
    return found


def make_credentials(ledger: Ledger) -> list[tuple[str, str, str | None]]:
    """Return names and values of Authorization headers, and a scope that each of them does have."""
    valid = add_token(ledger, ["admin"])
    revoked, expired = add_token(ledger, ["admin"]), add_token(ledger, ["admin"], lifetime_s=1)
    ledger.tokens.revoke(revoked.split("_")[1])
    other = ledger.problem("other")
    assert other is not None
    changed = valid[:-1] + ("A" if valid[-1] != "A" else "B")
    bad = {
        "none": "",
        "Basic": "Basic YWRtaW46YWRtaW4=",
        "no scheme": valid,
        "wrong": f"Bearer {changed}",
        "short": f"Bearer {valid[:-4]}",
        "long": f"Bearer {valid}x",
        "only the id": f"Bearer belated_{valid.split('_')[1]}_",
        "empty": "Bearer ",
        "two": f"Bearer {changed}, Bearer {valid}",
        "revoked": f"Bearer {revoked}",
        "expired": f"Bearer {expired}",
        "other problem": f"Bearer {add_token(ledger, [*SCOPES], problem=other.id)}",
    }
    credentials: list[tuple[str, str, str | None]] = [(*each, None) for each in bad.items()]
    for scope in ("read", "metrics"):
        token = add_token(ledger, [scope])
        credentials.append((f"only {scope}", f"Bearer {token}", scope))
    return credentials


def add_token(ledger: Ledger, scopes: list[str], **options: Any) -> str:
    """Add a token to `ledger` and return its text."""
    made = create_token()
    ledger.tokens.add(made.id, made.hash, scopes=scopes, **options)
    return made.text


def wait_for_tokens(service: Service) -> None:
    """Wait until requests need a token, and a token that expires after a second has expired."""
    wait_until(lambda: service.ask("GET", "/v1/problems").status == 401, TOKEN_CACHE_S)
    time.sleep(1.5)


def ask_as(service: Service, operation: Operation, authorization: str) -> Response:
    """Send a request with an Authorization header."""
    body: Any = {} if operation.method == "POST" else None
    headers = {"Authorization": authorization} if authorization else {}
    return service.ask(operation.method, operation.path, body, headers=headers)


def ask_as_reader(service: Service, token: str) -> Response:
    """Read the list of problems with a token."""
    return service.ask("GET", "/v1/problems", headers={"Authorization": f"Bearer {token}"})


def command_lines() -> list[str]:
    """Return the command lines of all processes, as `ps` shows them."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes().decode(errors="replace"))
        except OSError:
            continue  # the process has ended
    return found
