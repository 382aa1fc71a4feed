"""Flip bytes of events, snapshots and backups; run as a program, since a crash ends the process.

Each case must raise an error, or leave content that is valid. The program prints the number of
cases of each outcome as JSON.
"""

import json
import logging
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa

from belated.cli.support.existing_ledger import open_existing_ledger, verify_ledger
from belated.ledger import Event, Ledger, Part
from belated.ledger.audit import TABLES, find_content_fault
from belated.online.fold import DamagedEventError, Fold
from belated.online.host import Host
from belated.online.snapshot_codec import decode_state, encode_state
from histories import History, make_spec

KINDS: dict[str, dict[str, Any]] = {
    "lazy": {"updater": Part("lazy", {"alpha": 2})},
    "late": {"late": "rewards"},
    "explicit": {"updater": Part("explicit", {"threshold": 3})},
    "q-learning": {"base": Part("q-learning", {"scale": 0.05, "bonus": "bernstein"})},
    "psrl": {"base": Part("psrl"), "stages": "pooled"},
}


def play(ledger: Ledger, name: str, **options: Any) -> History:
    """Play a problem with feedback of all forms, partly waiting for the next batch."""
    history = History(ledger, make_spec(name, **options), 3)
    history.publish_first()
    history.go_on(40, undo=False)
    history.tick()
    history.go_on(10, ticks=False, undo=False)
    return history


def flip(data: bytes, rng: random.Random) -> bytes:
    """Return `data` with one to three changed bits."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def damage_number(text: str, rng: random.Random) -> str:
    """Return JSON `text` with one of its numbers replaced by an unexpected value."""
    places = [i for i, char in enumerate(text) if char.isdigit() and text[i - 1] in "[,:"]
    place = rng.choice(places)
    end = place
    while text[end] not in ",]}":
        end += 1
    values = ("-1", "4", "1073741824", str(2**62), str(2**80), "1.5", '"1"', "null", "NaN", "[]")
    return text[:place] + rng.choice(values) + text[end:]


def fuzz_events(history: History, cases: int, rng: random.Random) -> Iterator[str]:
    """Damage one event of `history`, whose digest is taken to be right, and fold all of them."""
    events = list(history.ledger.events(history.problem))
    changeable = [i for i, e in enumerate(events) if e.kind in ("opened", "feedback", "tick")]
    for _ in range(cases):
        place = rng.choice(changeable)
        text = events[place].text or ""
        if rng.random() < 0.5:
            text = damage_number(text, rng)
        else:
            text = flip(text.encode(), rng).decode("latin-1")
        damaged = [*events]
        damaged[place] = events[place]._replace(text=text)
        yield judge(history, Fold(history.spec), damaged, damaged[place])


def judge(history: History, fold: Fold, events: list[Event], damaged: Event) -> str:
    """Fold `events` and a tick at their end; a valid change and an error are right."""
    end = events[-1].seq
    tick = Event(end + 1, 1, None, "tick", 0, None, json.dumps({"upto": end}), None, "", False)
    try:
        for event in [*events, tick]:
            fold.apply(event)
    except DamagedEventError as error:
        return "error" if str(error).startswith("Event ") else f"no seq in {error}"
    if find_content_fault(damaged, history.spec) is None:
        return "valid"
    return f"silence about {damaged.text}"


def arrays_of(part: Any) -> Iterator[np.ndarray[Any, Any]]:
    """Yield the arrays of a state that are not empty."""
    if isinstance(part, np.ndarray):
        if part.size:
            yield part
    elif isinstance(part, dict | list):
        for value in part.values() if isinstance(part, dict) else part:
            yield from arrays_of(value)


def fuzz_snapshots(history: History, cases: int, rng: random.Random) -> Iterator[str]:
    """Damage one array of a snapshot, restore it, and fold the events after it."""
    events = list(history.ledger.events(history.problem))
    fold = Fold(history.spec)
    for event in events[: len(events) // 2]:
        fold.apply(event)
    rest, data = events[len(events) // 2 :], encode_state(fold.snapshot())
    intact = decode_state(data)
    for case in range(cases):
        state = deepcopy(intact)
        if case % 10 == 0:  # the archive itself, which has checksums
            try:
                state = decode_state(flip(data, rng))
            except ValueError:
                yield "error"
                continue
        else:
            array = rng.choice([*arrays_of(state)])
            raw = array.reshape(-1).view(np.uint8)
            raw[:] = np.frombuffer(flip(raw.tobytes(), rng), np.uint8)
        try:
            restored = Fold.restore(history.spec, state)
        except ValueError:
            yield "error"
            continue
        outcome = judge(history, restored, rest, rest[-1])
        yield "error" if outcome == "error" else "valid"


def dump(ledger: Ledger) -> str:
    """Return all content of a ledger that events and their digests determine."""
    uncovered = {"at", "event_time"}
    rows = []
    with ledger.store.reading() as connection:
        for table in TABLES:
            columns = [column for column in table.c if column.name not in uncovered]
            rows += [repr(tuple(row)) for row in connection.execute(sa.select(*columns))]
    return "\n".join(sorted(rows))


def fuzz_backups(cases: int, rng: random.Random, folder: Path) -> Iterator[str]:
    """Damage the file of a backup and verify it."""
    path = folder / "ledger.db"
    with Ledger.open(f"sqlite:///{path}") as ledger:
        play(ledger, "clinic")
        host = Host(ledger, snapshot_every=5)
        host.step()
        host.stop()
        ledger.store.scrub(wait=True)
        sound, digest = dump(ledger), ledger.digest()
    data, copy = path.read_bytes(), folder / "copy.db"
    for _ in range(cases):
        copy.write_bytes(flip(data, rng))
        try:
            with open_existing_ledger(f"sqlite:///{copy}") as damaged:
                result = verify_ledger(damaged, problem=None)
                found = result.faults or any(not v.sound for v in result.verdicts)
                if found or result.digest != digest:
                    yield "error"
                elif dump(damaged) == sound:
                    yield "valid"
                else:
                    yield "silence about a backup"
        except (sa.exc.SQLAlchemyError, ValueError, OSError):
            yield "error"
        for suffix in ("-wal", "-shm"):
            Path(f"{copy}{suffix}").unlink(missing_ok=True)


def main(cases: int, seed: int) -> None:
    """Run `cases` cases for events and snapshots, and a thirtieth of them for backups."""
    logging.disable()
    rng = random.Random(seed)
    counts: dict[str, Counter[str]] = {}
    with Ledger.open("sqlite://") as ledger:
        for name, options in KINDS.items():
            history = play(ledger, name, **options)
            share = cases // len(KINDS)
            counts.setdefault("events", Counter()).update(fuzz_events(history, share, rng))
            counts.setdefault("snapshots", Counter()).update(fuzz_snapshots(history, share, rng))
    with tempfile.TemporaryDirectory() as folder:
        counts["backups"] = Counter(fuzz_backups(cases // 30, rng, Path(folder)))
    print(json.dumps(counts))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
