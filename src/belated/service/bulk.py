"""Bulk: feedback of many episodes, line by line."""

import json
from collections.abc import AsyncIterator
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

from starlette.exceptions import HTTPException

from belated.online.checking import is_id
from belated.online.events import Feedback
from belated.online.outcomes import Refused, Unknown
from belated.service.answers import answer
from belated.service.directory import Entry
from belated.service.errors import RETRY, RefusalError, body_of
from belated.service.state import State
from belated.service.wire import Complaint, Incoming, parse, translate

Answer: TypeAlias = tuple[int, dict[str, Any]]

TOGETHER: Final = 500
"""How many lines to record at a time."""


class Line(NamedTuple):
    """One line: whose feedback it is, and what it says."""

    number: int
    episode: str | None
    content: Any
    complaint: Complaint | None


class Bulk:
    """Records lines as they come, and keeps what became of each."""

    def __init__(self, state: State, entry: Entry) -> None:
        self._state = state
        self._entry = entry
        self._results: list[bytes] = []
        self._lines: list[Line] = []
        self._count = 0
        self._done = 0

    async def read(self, stream: AsyncIterator[bytes]) -> list[bytes]:
        """What became of each line; the last may say why from there on nothing was recorded."""
        try:
            await self._read(stream)
        except HTTPException as error:
            await self._break_off(error.status_code, str(error.detail))
        except RefusalError as error:
            await self._break_off(error.status, error.message)
        return self._results

    async def _break_off(self, status: int, message: str) -> None:
        if status == 413:  # what came before is to count
            await self._record()
        if not self._results:
            raise RefusalError(status, message, headers=RETRY if status == 503 else None)
        self._tell(self._done + 1, None, status, body_of(status, message))

    async def _read(self, stream: AsyncIterator[bytes]) -> None:
        most, rest = self._state.settings.body, b""
        async for chunk in stream:
            *whole, rest = (rest + chunk).split(b"\n")
            for raw in whole:
                await self._add(raw)
            if len(rest) > most:
                raise RefusalError(413, f"Line {self._count + 1} has more than {most} bytes.")
        await self._add(rest)
        await self._record()

    async def _add(self, raw: bytes) -> None:
        self._count += 1
        if not raw.strip():
            return
        settings = self._state.settings
        if self._count > settings.lines:
            raise RefusalError(413, f"There are more than {settings.lines} lines.")
        if len(raw) > settings.body:
            raise RefusalError(413, f"Line {self._count} has more than {settings.body} bytes.")
        self._lines.append(line_of(self._count, raw))
        if len(self._lines) >= TOGETHER:
            await self._record()

    async def _record(self) -> None:
        """Record what waits, in one go."""
        lines, self._lines = self._lines, []
        state, entry = self._state, self._entry
        places = await state.directory.places({one.episode for one in lines if one.episode})
        events, sent = [], []
        answers: dict[int, Answer] = {}
        for one in lines:
            place = places.get(one.episode or "")
            if one.complaint is not None or (place is not None and place.problem != entry.id):
                answers[one.number] = await self._refuse(one)
                continue
            incoming = translate(one.content, entry) if place is not None else Incoming(one.content)
            assert one.episode is not None
            events.append(Feedback(one.episode, incoming.content, incoming.event_time))
            sent.append((one, incoming.complaint))
        outcomes = await state.record(*events) if events else []
        for (one, complaint), outcome in zip(sent, outcomes, strict=True):
            answers[one.number] = answer(outcome, complaint)
        for one in lines:
            self._tell(one.number, one.episode, *answers[one.number])

    async def _refuse(self, one: Line) -> Answer:
        """Keep what the ledger is not asked about; of another problem's, only that it came."""
        problem, quarantine = self._entry.id, self._state.ledger.quarantine
        outcome: Refused | Unknown
        if one.complaint is not None:
            outcome, content = Refused(one.complaint.message, one.complaint.field), one.content
        else:
            outcome = Unknown(f"There is no episode {one.episode!r} of this problem.")
            content = None
        await self._state.quick(partial(quarantine.add, outcome.reason, content, problem=problem))
        return answer(outcome)

    def _tell(self, line: int, episode: str | None, status: int, body: dict[str, Any]) -> None:
        said = {"line": line, "episode": episode, "status": status, **body}
        self._results.append(json.dumps(said).encode() + b"\n")
        self._done = line


def line_of(number: int, raw: bytes) -> Line:
    """A line, with a complaint if nobody can be told from it."""
    given, complaint = parse(raw)
    if complaint is None and not isinstance(given, dict):
        complaint = Complaint(None, "The line must be an object.")
    if complaint is not None:
        return Line(number, None, given, complaint)
    if not is_id(given.get("episode")):
        complaint = Complaint("episode", "episode must be the id of an episode.")
        return Line(number, None, given, complaint)
    return Line(number, given.pop("episode"), given, None)
