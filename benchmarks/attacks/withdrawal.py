"""Attack on withdrawn data: a byte search for subjects in all files."""

import random
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from attacks.client import ask_together
from attacks.registry import SQLITE, Finding, attack
from attacks.service import Service, wait_until
from attacks.testbed import Testbed

SUBJECTS = 2000
ROUNDS = 10
MARKS = re.compile(rb"<<(\d{6})|(\d{6})>>")
"""Beginning and end of a subject, so that a part of it is found too."""
TIMEOUT_S = 60


@attack("Search for withdrawn subjects")
def withdrawn_subjects(testbed: Testbed) -> Iterator[Finding]:
    """Withdraw half of the subjects in several rounds, and search all files for them.

    Old pages of PostgreSQL's own files are not searched: it reuses them in its own time.
    """
    draws, kept, gone = random.Random(3), list[str](), list[str]()
    with testbed.serve() as service:
        service.define()
        for first in range(0, SUBJECTS, SUBJECTS // ROUNDS):
            new = [make_subject(n, draws) for n in range(first, first + SUBJECTS // ROUNDS)]
            ask_together(lambda subject: play(service, subject), new)
            kept += new
            draws.shuffle(kept)
            leaving, kept = kept[: len(new) // 2], kept[len(new) // 2 :]
            statuses = ask_together(lambda subject: withdraw(service, subject), leaving)
            if set(statuses) != {200}:
                raise RuntimeError(f"Withdrawals got {sorted(set(statuses))}.")
            gone += leaving
        exported = service.ask("GET", "/v1/problems/clinic/events").content
        while_running = search(testbed.folder)
    after = search(testbed.folder)
    backup = testbed.folder / "backup"
    backup.mkdir()
    made = testbed.command("ledger", "backup", str(backup / "backup.db"))
    withdrawn = numbers(gone)
    found = {
        "files while it runs": while_running,
        "files afterwards": after,
        "a new backup": search(backup),
        "an export": find(exported),
    }
    left = {place: len(withdrawn & numbers) for place, numbers in found.items()}
    kept_in_backup = len(numbers(kept) & found["a new backup"])
    if testbed.kind != SQLITE:
        del left["files while it runs"], left["files afterwards"]
    yield Finding(
        f"{len(gone):,} of {SUBJECTS:,} subjects withdrawn, about half with feedback",
        "a byte search finds 0 of them, in " + ", ".join(left),
        ", ".join(f"{count}" for count in left.values())
        + f"; {kept_in_backup:,} of {len(kept):,} others are in the backup",
        not any(left.values()) and made.returncode == 0 and kept_in_backup == len(kept),
    )


def make_subject(number: int, draws: random.Random) -> str:
    """Return a text of 16 to 200 characters that contains `number` twice."""
    return f"<<{number:06d}{'.' * draws.randrange(185)}{number:06d}>>"


def numbers(subjects: list[str]) -> set[int]:
    """Return the numbers of `subjects`."""
    return {int(subject[2:8]) for subject in subjects}


def find(data: bytes) -> set[int]:
    """Return the numbers of the subjects of which `data` has the beginning or the end."""
    return {int(first or last) for first, last in MARKS.findall(data)}


def search(folder: Path) -> set[int]:
    """Return the numbers of the subjects that are in any file of `folder`."""
    return set().union(*(find(file.read_bytes()) for file in folder.iterdir() if file.is_file()))


def play(service: Service, subject: str) -> None:
    """Open an episode of `subject`, and send its feedback if the subject is long."""
    episode = service.open(subject=subject)
    if len(subject) > 100:
        service.send_feedback(episode)


def withdraw(service: Service, subject: str) -> int:
    """Withdraw a subject, again if the store is busy, and return the status."""
    statuses: list[int] = []

    def is_done() -> bool:
        path = f"/v1/subjects/{quote(subject, safe='')}"
        statuses.append(service.try_ask("DELETE", path).status)
        return statuses[-1] != 503

    wait_until(is_done, TIMEOUT_S)
    return statuses[-1]
