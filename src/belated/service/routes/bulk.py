"""Route for bulk requests: feedback of many episodes, one JSON object on each line (NDJSON)."""

import json
from collections.abc import AsyncIterator
from typing import Any, Final, NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from starlette.exceptions import HTTPException

from belated.check import is_id
from belated.ledger.clients.quarantine import RejectedRequest
from belated.ledger.events import Feedback
from belated.ledger.outcomes import Invalid
from belated.ledger.problems import Problem
from belated.service.auth import AuthorizedRoute, require_scope
from belated.service.errors import (
    ApiError,
    FieldError,
    error_json,
    error_responses,
    outcome_response,
)
from belated.service.models.common import EXAMPLE_ID, ProblemName
from belated.service.models.feedback import LineResult
from belated.service.requests.parsing import TooLargeError, parse_feedback, parse_json
from belated.service.requests.rejections import quarantine
from belated.service.requests.validation import to_api_error
from belated.service.routes.common import NDJSON, get_problem, ndjson_response
from belated.service.routes.feedback import check_content_type
from belated.service.state import AppState, get_state

router = APIRouter(route_class=AuthorizedRoute, tags=["feedback"])

BATCH_LINES: Final = 500
"""Maximum number of lines that are recorded in one transaction."""
EXAMPLE_LINE: Final = {"episode": EXAMPLE_ID, "states": [0, 1], "actions": ["treat"]}


@router.post(
    "/v1/problems/{problem}/feedback",
    response_class=StreamingResponse,
    responses={
        **ndjson_response(
            LineResult,
            "One result for each line, in the same order. A result with status 413 and without "
            "episode is the last one: the lines after it were not read.",
        ),
        **error_responses(404, 413, 415),
    },
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                NDJSON: {"schema": {"type": "string"}, "example": json.dumps(EXAMPLE_LINE) + "\n"}
            },
        }
    },
)
# A body that is rejected as a whole is not quarantined, since a withdrawal would not find it there.
@require_scope("feedback", bulk=True, quarantined_fields=())
async def send_bulk(problem: ProblemName, request: Request) -> StreamingResponse:
    """Send feedback of many episodes, with one JSON object on each line (NDJSON).

    Each object has the field `episode`, which is the id of an episode, and the fields of a feedback
    request for one episode. Lines are recorded in batches while the body is read. The response
    begins after the last line has been recorded, because few clients read a response while they
    send a request. A request that was interrupted may be sent again: lines that were recorded
    before get the status 200, "already recorded", and have no further effect.
    """
    state, known = get_state(request), await get_problem(request, problem)
    check_content_type(request, NDJSON)
    results = await BulkRequest(state, known).read(request.stream())

    async def lines() -> AsyncIterator[bytes]:
        for result in results:
            yield result

    return StreamingResponse(lines(), media_type=NDJSON)


class Line(NamedTuple):
    """One line of a bulk request, parsed."""

    number: int  # from 1
    episode: str | None  # id; None if there is an error
    content: Any  # JSON value without `episode`; the text of the line if it is not JSON
    error: FieldError | None


class BulkRequest:
    """Recording of a bulk request: lines are recorded in batches, and their results collected.

    `state` is the state of the application. All episodes must belong to `problem`.
    """

    def __init__(self, state: AppState, problem: Problem) -> None:
        self._state = state
        self._problem = problem
        self._results: list[bytes] = []
        self._lines: list[Line] = []  # lines that are not yet recorded
        self._lines_read = 0
        self._lines_answered = 0

    async def read(self, stream: AsyncIterator[bytes]) -> list[bytes]:
        """Record all lines of `stream`, and return the result of each line as a line of JSON.

        If an error occurs before the end of `stream`, no further lines are recorded. The last
        result then states the error; if there are no results yet, the error is raised.
        """
        try:
            await self._read(stream)
        except (HTTPException, ApiError) as error:
            reason = to_api_error(error, "POST")
            if reason.status == 413:  # record the lines before the error
                await self._record()
            if not self._results:
                raise
            await self._break_off(reason, error.size if isinstance(error, TooLargeError) else None)
        return self._results

    async def _break_off(self, reason: ApiError, size: dict[str, int] | None) -> None:
        """Add a last result, which states the `reason` why the request ends.

        If the body is too large, `size` is the number of bytes declared or read, as in
        `TooLargeError`; otherwise `size` is None.
        """
        status, message, line = reason.status, reason.message, self._lines_answered + 1
        if status == 413:  # with a size, the whole body is too large and its next line was not read
            line = self._lines_read if size is None else self._lines_read + 1
            await quarantine(
                self._state, [RejectedRequest(message, size, problem=self._problem.id)]
            )
        self._add_result(line, None, status, error_json(status, message))

    async def _read(self, stream: AsyncIterator[bytes]) -> None:
        rest = b""
        async for chunk in stream:
            *whole, rest = (rest + chunk).split(b"\n")
            for raw in whole:
                await self._add_line(raw)
            if len(rest) > self._state.settings.max_body_bytes:
                await self._add_line(rest)
        if rest:  # otherwise the last line ends with a newline
            await self._add_line(rest)
        await self._record()

    async def _add_line(self, raw: bytes) -> None:
        self._lines_read += 1
        settings = self._state.settings
        if self._lines_read > settings.max_bulk_lines:
            message = f"Too many lines: at most {settings.max_bulk_lines} are allowed."
            raise ApiError(413, message)
        if len(raw) > settings.max_body_bytes:
            message = (
                f"Line {self._lines_read} too large: "
                f"at most {settings.max_body_bytes} bytes are allowed."
            )
            raise ApiError(413, message)
        if not raw.strip():
            return
        self._lines.append(parse_line(self._lines_read, raw))
        if len(self._lines) >= BATCH_LINES:
            await self._record()

    async def _record(self) -> None:
        """Record the lines that are parsed but not yet recorded, in one transaction."""
        lines, self._lines = self._lines, []
        events = []
        rejections: list[RejectedRequest] = []
        for line in lines:
            if line.episode is None:
                assert line.error is not None
                rejection = RejectedRequest(
                    line.error.message, line.content, problem=self._problem.id
                )
                rejections.append(rejection)
                continue
            content, event_time = parse_feedback(line.content)
            events.append(Feedback(line.episode, content, event_time, self._problem.id))
        if rejections:
            await quarantine(self._state, rejections)
        outcomes = await self._state.record(*events) if events else []
        recorded = iter(outcomes)
        for line in lines:
            if line.error is not None:
                response = outcome_response(Invalid(line.error.message, line.error.field))
            else:
                response = outcome_response(next(recorded))
            self._add_result(line.number, line.episode, *response)

    def _add_result(
        self, line: int, episode: str | None, status: int, body: dict[str, Any]
    ) -> None:
        result = {"line": line, "episode": episode, "status": status, **body}
        self._results.append(json.dumps(result).encode() + b"\n")
        self._lines_answered = line


def parse_line(number: int, raw: bytes) -> Line:
    """Return line `number` of a bulk request, parsed from the bytes `raw`."""
    body, error = parse_json(raw)
    if error is None and not isinstance(body, dict):
        error = FieldError(None, "The line must be a JSON object.")
    if error is None and not is_id(body.get("episode")):
        error = FieldError("episode", "episode must be the id of an episode.")
    if error is not None:
        return Line(number, None, body, error)
    return Line(number, body.pop("episode"), body, None)
