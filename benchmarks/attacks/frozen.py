"""Attacks by SIGSTOP: one of two processes of the service while it writes, and PostgreSQL."""

import itertools
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from attacks.client import Watcher, ask_together, count_statuses, format_statuses
from attacks.registry import POSTGRESQL, Finding, attack
from attacks.service import PLAYED, Response, Service
from attacks.testbed import Testbed
from belated.ledger.store import WRITER_LOCK_ID

STOPS = 8
"""Maximum number of times that a process is stopped."""
LOCKED_STOPS = 2
"""Number of times that it must have held the lock of all writers."""
MAX_GAP_S = 16.0
"""Timeout of an idle transaction, 10 s, of a lock, 5 s, and one second."""
MAX_WAIT_S = 11.0
"""Timeout of a request, 10 s, and one second."""
READY_S = 8.0
"""Timeout of the write probe, 5 s, time for which its result is cached, 2 s, and one second."""
FROZEN_S = 13.0
WRITERS = 4
LOCKED = f"""SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid)
    WHERE locktype = 'advisory' AND (classid::bigint << 32) + objid::bigint = {WRITER_LOCK_ID}
    AND granted AND state_change < now() - interval '1 s'"""


@attack("Frozen process that holds the lock", stores=(POSTGRESQL,))
def frozen_process(testbed: Testbed) -> Iterator[Finding]:
    """Stop one of two processes while it writes; the other one must write again."""
    with testbed.serve() as first, testbed.serve(log="other.txt") as second:
        first.define()
        reasons: set[str] = set()
        locked = stops = 0
        with (
            Watcher(second, lambda: write(second)) as watcher,
            Watcher(second, lambda: note_reasons(second, reasons), pause_s=0.5),
            writing(first),
        ):
            while stops < STOPS and locked < LOCKED_STOPS:
                time.sleep(1.0 + 0.07 * stops)
                stops += 1
                locked += stop_once(testbed, first, watcher)
    measured = (
        f"lock held in {locked}; longest gap {watcher.longest_gap_s:.1f} s, longest wait "
        f"{watcher.longest_s:.1f} s ({format_statuses(watcher.statuses)}); /readyz: "
        f"{' '.join(sorted(reasons)) or 'always ready'}"
    )
    told = any("cannot be written to" in reason for reason in reasons)
    yield Finding(
        f"SIGSTOP {stops} times while {WRITERS} clients write",
        f"the other process writes again within {MAX_GAP_S:g} s; no request waits longer than "
        f"{MAX_WAIT_S:g} s; /readyz says why if nothing is written for {READY_S:g} s",
        measured,
        watcher.longest_gap_s <= MAX_GAP_S
        and watcher.longest_s <= MAX_WAIT_S
        and set(watcher.statuses) <= {201, 503}
        and (told or watcher.longest_gap_s <= READY_S),
    )


@attack("Frozen PostgreSQL", stores=(POSTGRESQL,))
def frozen_postgresql(testbed: Testbed) -> Iterator[Finding]:
    """Stop all processes of PostgreSQL; each request must be answered."""
    with testbed.serve() as service:
        service.define()
        episodes = [service.open() for _ in range(20)]
        requests: list[tuple[str, str, Any]] = [
            ("POST", f"/v1/episodes/{id}/feedback", PLAYED) for id in episodes
        ]
        requests += [
            ("GET", path, None)
            for path in (
                "/readyz",
                "/healthz",
                "/metrics",
                "/v1/problems",
                "/v1/problems/clinic/policy",
            )
        ]
        with testbed.postgres.stopped():
            responses = ask_together(
                lambda request: service.try_ask(*request, timeout_s=FROZEN_S),
                requests,
                threads=len(requests),
            )
        start = time.perf_counter()
        again = [repeat_feedback(service, id) for id in episodes]
        seconds = time.perf_counter() - start
    longest = max(response.seconds for response in responses)
    unanswered = [
        request[1] for request, r in zip(requests, responses, strict=True) if not r.status
    ]
    yield Finding(
        f"{len(requests)} requests while all processes of PostgreSQL are stopped",
        f"each is answered within {MAX_WAIT_S:g} s; afterwards all feedback is recorded",
        f"longest wait {longest:.1f} s ({format_statuses(count_statuses(responses))})"
        + (f"; unanswered: {', '.join(sorted(set(unanswered)))}" if unanswered else "")
        + f"; all {sum(again)} recorded {seconds:.1f} s after SIGCONT",
        longest <= MAX_WAIT_S and not unanswered and all(again),
    )


def write(service: Service) -> Response:
    """Open an episode."""
    return service.try_ask("POST", "/v1/problems/clinic/episodes", timeout_s=120)


def note_reasons(service: Service, reasons: set[str]) -> Response:
    """Add to `reasons` why the service says that it is not ready."""
    response = service.try_ask("GET", "/readyz")
    if response.status == 503:
        reasons.update(response.json["reasons"])
    return response


@contextmanager
def writing(service: Service) -> Iterator[None]:
    """Open episodes from several threads until the end of the block."""
    end = threading.Event()

    def work() -> None:
        while not end.is_set():
            write(service)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(WRITERS)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        end.set()
        for thread in threads:
            thread.join()


def stop_once(testbed: Testbed, service: Service, watcher: Watcher) -> bool:
    """Stop `service` until the other one writes again; return whether it held the lock."""
    with service.stopped():
        time.sleep(1.5)
        locked = bool(testbed.postgres.execute(LOCKED)[0][0])
        before = watcher.statuses[201]
        for _ in itertools.takewhile(lambda _: watcher.statuses[201] == before, range(600)):
            time.sleep(0.05)
    return locked


def repeat_feedback(service: Service, episode: str) -> bool:
    """Send feedback until it is recorded, at most for some seconds; return whether it is."""
    for _ in range(100):
        if service.send_feedback(episode).status in (200, 201):
            return True
        time.sleep(0.1)
    return False
