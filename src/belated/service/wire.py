"""Feedback as it comes: names become numbers here, and nothing is judged.

A text is a name and a number is an index. What cannot be read goes to the ledger as it is, which
refuses it and keeps it with the reason; the complaint says it in the caller's words.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from belated.service.directory import Entry

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
LISTED: Final = 10
"""How many names to tell of."""


class Complaint(NamedTuple):
    """What is wrong, and in which field."""

    field: str | None
    message: str


class Incoming(NamedTuple):
    """What the ledger is to be told."""

    content: Any
    event_time: int | None = None
    complaint: Complaint | None = None


def parse(raw: bytes) -> tuple[Any, Complaint | None]:
    """JSON; what is none is returned as a text, with a complaint.

    >>> parse(b'{"a": 1}')
    ({'a': 1}, None)
    >>> parse(b"{")[0]
    '{'
    """
    try:
        return json.loads(raw), None
    except (ValueError, RecursionError) as error:
        why = getattr(error, "msg", None) or "it cannot be decoded"
        text = raw.decode(errors="backslashreplace")
        return text, Complaint(None, f"The body is not JSON: {why}.")


def translate(given: Any, entry: Entry) -> Incoming:
    """Feedback with numbers for names."""
    if not isinstance(given, dict):
        return Incoming(given)
    content, reader = dict(given), _Reader(entry)
    event_time, complaint = None, None
    if "event_time" in content:
        event_time = microseconds(content["event_time"])
        if event_time is None and content["event_time"] is not None:
            complaint = Complaint(
                "event_time",
                "event_time must be a time with its zone, such as 2026-01-31T12:00:00Z.",
            )
        else:
            del content["event_time"]
    reader.walk(content, "")
    if isinstance(content.get("path"), dict):
        content["path"] = path = dict(content["path"])
        reader.walk(path, "path.")
    if isinstance(content.get("steps"), list):
        content["steps"] = [reader.step(one, i) for i, one in enumerate(content["steps"])]
    return Incoming(content, event_time, complaint or reader.complaint)


def microseconds(given: Any) -> int | None:
    """A time in ISO 8601 with its zone, in microseconds since 1970; None if it is none.

    >>> microseconds("1970-01-01T00:00:01Z"), microseconds("1970-01-01")
    (1000000, None)
    """
    try:
        time = datetime.fromisoformat(given)
        return None if time.tzinfo is None else (time - EPOCH) // timedelta(microseconds=1)
    except (TypeError, ValueError, OverflowError):
        return None


class _Reader:
    """Turns names into numbers, and remembers the first that is unknown."""

    def __init__(self, entry: Entry) -> None:
        self._words = {"state": entry.states, "action": entry.actions}
        self.complaint: Complaint | None = None

    def walk(self, content: dict[str, Any], within: str) -> None:
        for kind in ("state", "action"):
            values = content.get(f"{kind}s")
            if isinstance(values, list):
                content[f"{kind}s"] = [
                    self.index(kind, value, f"{within}{kind}s[{i}]")
                    if type(value) is str
                    else value
                    for i, value in enumerate(values)
                ]

    def step(self, given: Any, i: int) -> Any:
        if not isinstance(given, dict):
            return given
        step = dict(given)
        for name, kind in (("state", "state"), ("action", "action"), ("next_state", "state")):
            if isinstance(step.get(name), str):
                step[name] = self.index(kind, step[name], f"steps[{i}].{name}")
        return step

    def index(self, kind: str, name: str, field: str) -> int | str:
        number = self._words[kind].get(name)
        if number is not None:
            return number
        if self.complaint is None:
            self.complaint = Complaint(field, unknown_name(field, name, self._words[kind]))
        return name


def unknown_name(field: str, name: str, words: Mapping[str, int]) -> str:
    """A sentence about a name that is none."""
    known = ", ".join(list(words)[:LISTED]) + (", ..." if len(words) > LISTED else "")
    return f"{field} is {name[:60]!r}; allowed are {known}, or 0 .. {len(words) - 1}."
