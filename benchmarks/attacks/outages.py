"""Attacks on the store: PostgreSQL crashes, SQLite is locked, the disk is full."""

import re
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from attacks.client import Watcher, ask_together, count_statuses, format_statuses
from attacks.registry import POSTGRESQL, SQLITE, Finding, SkipAttack, attack
from attacks.service import Response, Service, wait_until
from attacks.testbed import Testbed

CRASHES = 3
CRASH_S, LOCK_S = 2.0, 13.0
"""Duration of an outage: the lock lasts longer than a request waits for the store, 10 s."""
MAX_RECOVERY_S = 5.0
DISK_MIB, LARGER_MIB = 3, 64
TABLESPACE_MIB = 6
TIMEOUT_S = 60
MAX_OPENINGS = 100_000
FILL_REQUESTS = 64
REQUEST_ID = {"X-Request-ID": "attack-17"}


@attack("Crashes of PostgreSQL", stores=(POSTGRESQL,))
def crashes_of_postgresql(testbed: Testbed) -> Iterator[Finding]:
    """End PostgreSQL several times while a client writes."""
    yield from interrupt(testbed, testbed.postgres.down, times=CRASHES, seconds=CRASH_S)


@attack("Locked SQLite file", stores=(SQLITE,))
def locked_sqlite(testbed: Testbed) -> Iterator[Finding]:
    """Lock the file from another connection while a client writes."""

    @contextmanager
    def locked() -> Iterator[None]:
        connection = sqlite3.connect(testbed.store.removeprefix("sqlite:///"), timeout=TIMEOUT_S)
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            connection.rollback()
            connection.close()

    yield from interrupt(testbed, locked, times=1, seconds=LOCK_S)


def interrupt(
    testbed: Testbed,
    outage: Callable[[], AbstractContextManager[None]],
    *,
    times: int,
    seconds: float,
) -> Iterator[Finding]:
    """Make the store unavailable several times while a client writes.

    Parameters
    ----------
    testbed : Testbed
        The testbed.
    outage : Callable
        Function that returns a context in which the store is unavailable.
    times : int
        Number of outages.
    seconds : float
        Duration of each.

    Yields
    ------
    Finding
        Responses, lines of the log, and time until the service works again.
    """
    recovery = 0.0
    with testbed.serve() as service:
        service.define()
        with Watcher(service, lambda: write(service)) as watcher:
            for _ in range(times):
                with outage():
                    time.sleep(seconds)
                recovery = max(recovery, wait_until(lambda: works(service), TIMEOUT_S))
        lines = service.log_lines()
    lost = [line for line in lines if line.get("event") == "store_unavailable"]
    back = [line for line in lines if line.get("event") == "store_available"]
    codes = sorted({line["code"] or line["reason"] for line in lost})
    told = all(
        response.headers.get("retry-after") and response.headers.get("x-request-id") == "attack-17"
        for response in watcher.responses
    )
    yield Finding(
        f"{times} x {seconds:g} s without the store, while a client writes",
        "only 503 with Retry-After and request id; each outage and its end logged; works again "
        f"within {MAX_RECOVERY_S:g} s",
        f"{format_statuses(watcher.statuses)}; {len(lost)} + {len(back)} log lines "
        f"({', '.join(codes)}); works after {recovery:.1f} s",
        set(watcher.statuses) <= {201, 503}
        and watcher.failed > 0
        and told
        and len(lost) >= times
        and len(back) >= times
        and all(line.get("since") for line in lost)
        and recovery <= MAX_RECOVERY_S,
    )


@attack("Full disk")
def full_disk(testbed: Testbed) -> Iterator[Finding]:
    """Fill the disk of the store, and make room again."""
    size = DISK_MIB if testbed.kind == SQLITE else TABLESPACE_MIB
    with (
        small_disk(testbed.folder / "disk", size) as disk,
        place_store(testbed, disk) as store,
    ):
        with testbed.serve(store=store) as service:
            service.define()
            acknowledged, refused = fill(service)
            reads = service.ask("GET", "/v1/problems/clinic/policy").status
            ready = service.ask("GET", "/readyz")
            subprocess.run(["mount", "-o", f"remount,size={LARGER_MIB}m", str(disk)], check=True)
            recovery = wait_until(lambda: works(service), TIMEOUT_S)
            wait_until(lambda: service.status()["begun"] >= acknowledged, TIMEOUT_S)
            begun = int(service.status()["begun"])
            logged = service.count_logged(event="store_unavailable", reason="disk full")
        sound = testbed.verify(store).returncode == 0
    named = "disk full" in refused.content.decode()
    yield Finding(
        f"{acknowledged:,} openings fill {size} MiB; then {LARGER_MIB} MiB",
        "503 that names the reason; reads work; logged; nothing lost; works again within "
        f"{MAX_RECOVERY_S:g} s",
        f"{refused.status} {refused.json['message']!r}; policy {reads}, /readyz {ready.status}; "
        f"{logged} log lines; {begun:,} episodes; works after {recovery:.1f} s; "
        f"{'sound' if sound else 'not sound'}",
        refused.status == 503
        and named
        and (reads, ready.status) == (200, 503)
        and logged > 0
        and begun > acknowledged
        and recovery <= MAX_RECOVERY_S
        and sound,
    )


@contextmanager
def small_disk(folder: Path, size_mib: int) -> Iterator[Path]:
    """Mount a file system in memory, of `size_mib`, at `folder` until the end of the block."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size_mib}m", "tmpfs", str(folder)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        raise SkipAttack("Only root can mount a small file system.") from None
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def place_store(testbed: Testbed, disk: Path) -> Iterator[str]:
    """Yield the address of a new store on `disk`: a file, or a tablespace of PostgreSQL."""
    if testbed.kind == SQLITE:
        yield f"sqlite:///{disk / 'ledger.db'}"
        return
    postgres, own = testbed.postgres, disk / "tablespace"
    own.mkdir()
    postgres.own(own)
    for folder in (disk, testbed.folder, testbed.folder.parent):
        folder.chmod(0o755)  # for the user that runs the server
    postgres.execute(f"CREATE TABLESPACE small LOCATION '{own}'")
    store = postgres.create_store(default_tablespace="small")
    try:
        yield store
    finally:
        # so that the server does not need the tablespace when it restarts
        [schema] = re.findall(r"ledger_\d+", store)
        postgres.execute(f"DROP SCHEMA {schema} CASCADE", "DROP TABLESPACE small", "CHECKPOINT")


def fill(service: Service) -> tuple[int, Response]:
    """Open episodes until all are refused; return the number of those before, and a refusal."""
    acknowledged = 0
    while acknowledged < MAX_OPENINGS:
        responses = ask_together(lambda _: write(service), range(FILL_REQUESTS))
        recorded = count_statuses(responses)[201]
        acknowledged += recorded
        if recorded == 0:
            return acknowledged, responses[-1]
    raise RuntimeError(f"The disk is not full after {acknowledged} episodes.")


def write(service: Service) -> Response:
    """Open an episode."""
    return service.try_ask(
        "POST", "/v1/problems/clinic/episodes", {"subject": "s" * 200}, headers=REQUEST_ID
    )


def works(service: Service) -> bool:
    """Return whether the service writes and is ready."""
    return write(service).status == 201 and service.try_ask("GET", "/readyz").status == 200
