"""Bulk: feedback of many episodes, line by line."""

import json
from collections.abc import AsyncIterator
from typing import Any, Final, NamedTuple, TypeAlias

from starlette.exceptions import HTTPException

from belated.ledger.events import Feedback
from belated.ledger.outcomes import Invalid
from belated.ledger.problems import Problem
from belated.ledger.quarantine import RejectedRequest
from belated.ledger.validation import is_id
from belated.service.answers import answer
from belated.service.errors import RefusalError, body_of, refusal_of
from belated.service.refusals import put
from belated.service.state import State
from belated.service.wire import Complaint, parse, read

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

    def __init__(self, state: State, problem: Problem) -> None:
        self._state = state
        self._problem = problem
        self._results: list[bytes] = []
        self._lines: list[Line] = []
        self._count = 0
        self._done = 0

    async def read(self, stream: AsyncIterator[bytes]) -> list[bytes]:
        """What became of each line; the last may say why from there on nothing was recorded."""
        try:
            await self._read(stream)
        except (HTTPException, RefusalError) as error:
            refusal = refusal_of(error, "POST")
            if refusal.status == 413:  # what came before is to count
                await self._record()
            if not self._results:
                raise
            await self._break_off(refusal, getattr(error, "seen", None))
        return self._results

    async def _break_off(self, refusal: RefusalError, seen: Any) -> None:
        """End with a line that says why."""
        status, message, line = refusal.status, refusal.message, self._done + 1
        if status == 413:  # with `seen` it is the body that is too long, and its line was not read
            line = self._count if seen is None else self._count + 1
            await put(self._state, [RejectedRequest(message, seen, problem=self._problem.id)])
        self._tell(line, None, status, body_of(status, message))

    async def _read(self, stream: AsyncIterator[bytes]) -> None:
        most, rest = self._state.settings.body, b""
        async for chunk in stream:
            *whole, rest = (rest + chunk).split(b"\n")
            for raw in whole:
                await self._add(raw)
            if len(rest) > most:
                await self._add(rest)
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
        events, sent = [], []
        refused: list[RejectedRequest] = []
        answers: dict[int, Answer] = {}
        for one in lines:
            if one.complaint is not None:
                field, reason = one.complaint
                answers[one.number] = answer(Invalid(reason, field))
                refused.append(RejectedRequest(reason, one.content, problem=self._problem.id))
                continue
            content, event_time, complaint = read(one.content)
            assert one.episode is not None
            events.append(Feedback(one.episode, content, event_time, self._problem.id))
            sent.append((one, complaint))
        if refused:
            await put(self._state, refused)
        outcomes = await self._state.record(*events) if events else []
        for (one, complaint), outcome in zip(sent, outcomes, strict=True):
            answers[one.number] = answer(outcome, complaint)
        for one in lines:
            self._tell(one.number, one.episode, *answers[one.number])

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
