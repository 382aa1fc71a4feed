"""Attacks on stored data: events, snapshots and files with changed content."""

import json
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import sqlalchemy as sa

from attacks.registry import SQLITE, Finding, attack
from attacks.service import Service, wait_until
from attacks.testbed import Testbed
from belated.ledger import Ledger, schema
from belated.ledger.schema import canonical, digest

EPISODES = 30
FAR = 2**30
"""State index that is far out of range."""
TESTS = Path(__file__).parent.parent.parent / "tests"
FUZZ_CASES = 1500
FLIPPED_FILES = 4
TIMEOUT_S = 60


@attack("Event with a state out of range")
def state_out_of_range(testbed: Testbed) -> Iterator[Finding]:
    """Change a stored event and its digest; only its problem may fail."""
    with testbed.serve() as service:
        play(service, "clinic")
        play(service, "other")
    with testbed.open_ledger() as ledger:
        seq = damage_event(ledger, "clinic")
    verified = testbed.verify()
    with testbed.serve() as service:
        failure = service.status("clinic")["failure"]
        answered = service.send_feedback(service.open("other")).status
        wait_until(lambda: service.status("other")["observed"] == EPISODES + 1, TIMEOUT_S)
        failed = service.ask("GET", "/readyz").json["failed"]
        logged = service.count_logged(event="problem_failed", problem="clinic")
    named = f"Event {seq} " in verified.stdout + verified.stderr
    yield Finding(
        f"state {FAR:,} in one of {EPISODES} events of a problem, with a new digest; restart",
        "the service starts; only that problem fails; logged; verify names the event",
        f"{failed} of 2 problems failed: {str(failure)[:60]!r}; the other learns ({answered}); "
        f"{logged} log lines; verify: exit code {verified.returncode}, "
        f"{'named' if named else 'not named'}",
        failed == 1
        and f"Event {seq} " in str(failure)
        and answered == 201
        and logged == 1
        and verified.returncode == 1
        and named,
    )


@attack("Flipped bits in events, snapshots and backups", stores=(SQLITE,))
def flipped_bits(testbed: Testbed) -> Iterator[Finding]:
    """Flip bits of stored content in a process, which must report each of them."""
    paths = [str(TESTS), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, str(TESTS / "online" / "fuzz.py"), str(FUZZ_CASES), "11"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )
    counts: Counter[str] = Counter()
    for each in json.loads(done.stdout).values() if done.returncode == 0 else ():
        counts.update(each)
    silent = counts.total() - counts["error"] - counts["valid"]
    yield Finding(
        f"{counts.total():,} cases of one to three bits",
        "an error, or content that is still valid; no crash, no silence",
        f"exit code {done.returncode}; {counts['error']:,} errors, {counts['valid']:,} valid, "
        f"{silent} silent",
        done.returncode == 0 and silent == 0 and counts["error"] > FUZZ_CASES,
    )


@attack("Service on a file with flipped bits", stores=(SQLITE,))
def flipped_file(testbed: Testbed) -> Iterator[Finding]:
    """Start the service on copies of a SQLite file in which bytes were changed."""
    with testbed.serve() as service:
        play(service, "clinic")
        play(service, "other")
    source = Path(testbed.store.removeprefix("sqlite:///"))
    results: Counter[str] = Counter()
    rng = random.Random(5)
    for number in range(FLIPPED_FILES):
        copy = testbed.folder / f"copy-{number}.db"
        shutil.copy(source, copy)
        flip_bytes(copy, rng, count=20 * (number + 1))
        results[start_on(testbed, copy, f"log-{number}.txt")] += 1
    yield Finding(
        f"{FLIPPED_FILES} copies with 20 to {20 * FLIPPED_FILES} changed bytes",
        "it serves what can be read, or ends with a message; no signal, no traceback, no 500",
        ", ".join(f"{count} x {result}" for result, count in results.items()),
        not any(result.startswith("crash") for result in results),
    )


def play(service: Service, name: str) -> None:
    """Define a problem and send the feedback of some episodes."""
    service.define(name)
    for number in range(EPISODES):
        service.send_feedback(service.open(name), rewards=[0, 0.5, number / EPISODES])
    wait_until(lambda: service.status(name)["observed"] == EPISODES, TIMEOUT_S)


def damage_event(ledger: Ledger, name: str) -> int:
    """Put a state out of range into a feedback event of a problem; return its seq.

    The digest is computed again, and snapshots are deleted, so that the event is applied.
    """
    problem = ledger.problem(name)
    assert problem is not None
    event = list(ledger.events(problem.id, kinds=["feedback"]))[EPISODES // 2]
    body = event.body
    body["states"][1] = FAR
    text, of = canonical(body), schema.events
    on = "" if ledger.store.engine.dialect.name == "sqlite" else " ON events"
    with ledger.store.writing() as connection:
        connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS events_keep{on}")
        changed = {"body": text, "sha": digest(text, event.salt or b"")}
        connection.execute(sa.update(of).where(of.c.seq == event.seq).values(changed))
        connection.execute(sa.delete(schema.snapshots))
    return event.seq


def flip_bytes(path: Path, rng: random.Random, *, count: int) -> None:
    """Change `count` bytes of a file, after the header of SQLite."""
    data = bytearray(path.read_bytes())
    for _ in range(count):
        data[rng.randrange(100, len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(bytes(data))


def start_on(testbed: Testbed, path: Path, log: str) -> str:
    """Start a service on the file `path`; return what it does."""
    with testbed.serve(store=f"sqlite:///{path}", log=log, start=False) as service:
        try:
            service.start(wait=False)
        except RuntimeError:
            code, text = service.exit_code, service.log.read_text()
            is_message = code in (1, 2) and text.strip() and "Traceback" not in text
            return "ends with a message" if is_message else f"crash: exit code {code}"
        answers = [
            service.try_ask("GET", path).status
            for path in ("/v1/problems", "/v1/problems/clinic/status", "/v1/problems/other/status")
        ]
        answers += [service.try_ask("POST", "/v1/problems/other/episodes").status]
        if service.exit_code is not None or 0 in answers:
            return f"crash: exit code {service.exit_code}"
        return "crash: status 500" if 500 in answers else "serves"
