"""Routes for feedback: of one episode, and of many episodes in one request (NDJSON)."""

import json
from collections.abc import AsyncIterator
from typing import Any, Final, NamedTuple

from fastapi import Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from belated.check import is_id
from belated.ledger.clients import RejectedRequest
from belated.ledger.events import Invalid
from belated.ledger.kinds import Corrected, Feedback, Lost
from belated.ledger.problems import Problem
from belated.service.auth import Routes
from belated.service.bodies import (
    TooLargeError,
    check_outcome,
    outcome_response,
    parse_feedback,
    parse_json,
    parse_time,
    read_body,
)
from belated.service.errors import ApiError, error_json, invalid_value
from belated.service.openapi import NDJSON, json_body, ndjson_response
from belated.service.quarantine import quarantine
from belated.service.responses import LineResult, Receipt
from belated.service.schemas import (
    EXAMPLE_ID,
    EpisodeId,
    LateRewards,
    LostEpisode,
    ProblemName,
    Steps,
    WholeEpisode,
)
from belated.service.state import AppState, get_problem, get_state

routes = Routes("feedback")

ONE_EPISODE: Final[dict[str, Any]] = {
    "scope": "feedback",
    "model": Receipt,
    "repeated": "All of it was already recorded with the same content; nothing changes.",
    "errors": (409, 410, 415),
}
"""Options of the routes for one episode."""
ENCODER: Final = json.JSONEncoder(separators=(",", ":"))
BATCH_LINES: Final = 500
"""Maximum number of lines that are recorded in one transaction."""
EXAMPLE_LINE: Final = {"episode": EXAMPLE_ID, "states": [0, 1], "actions": ["treat"]}


@routes.add(
    "POST",
    "/episodes/{episode}/feedback",
    **ONE_EPISODE,
    openapi_extra=json_body(WholeEpisode, Steps, LateRewards),
)
async def send_feedback(episode: EpisodeId, request: Request) -> Response:
    """Send feedback of an episode: the whole episode, or steps and rewards as they arrive.

    States and actions are given by name (string) or by index (number); steps are numbered
    from 0. The feedback is on disk when the response arrives. If the same feedback is sent again,
    the response is 200, "already recorded", and nothing changes. Feedback that differs from
    recorded feedback of the same steps is rejected with 409.
    """
    return await _record(episode, request, Feedback)


@routes.add(
    "POST",
    "/episodes/{episode}/correction",
    **(ONE_EPISODE | {"scope": "correct"}),
    openapi_extra=json_body(WholeEpisode),
)
async def correct_feedback(episode: EpisodeId, request: Request) -> Response:
    """Replace all recorded feedback of an episode by the whole episode in the body.

    If the body equals the feedback that is currently valid, the response is 200, "already
    recorded".
    """
    return await _record(episode, request, Corrected)


async def _record(episode: str, request: Request, kind: type[Feedback]) -> Response:
    check_content_type(request, "application/json")
    content, event_time = parse_feedback(*parse_json(await request.body()))
    [outcome] = await get_state(request).record(kind(episode, content, event_time))
    status, answer = outcome_response(outcome)
    return Response(ENCODER.encode(answer).encode(), status, media_type="application/json")


@routes.add("POST", "/episodes/{episode}/lost", **ONE_EPISODE, openapi_extra=json_body(LostEpisode))
async def declare_lost(episode: EpisodeId, request: Request) -> Response:
    """Declare that the feedback of an episode is no longer expected.

    The episode no longer counts as missing, and is counted as lost. Nothing is learnt from it, in
    particular no reward of zero. Feedback that arrives later is used as usual, and the episode is
    then no longer lost. An episode whose feedback is complete cannot be lost (409).
    """
    body = await read_body(request, LostEpisode)
    event_time = parse_time(body.event_time)
    try:
        event = Lost(episode, body.reason, event_time)
    except (ValueError, TypeError) as error:
        raise invalid_value(error, ("reason",)) from None
    outcome = check_outcome((await get_state(request).record(event))[0])
    status, answer = outcome_response(outcome)
    return JSONResponse(answer, status)


def check_content_type(request: Request, expected: str) -> None:
    """Raise ApiError (415) unless the Content-Type of `request` is `expected`.

    This also prevents cross-site request forgery if `expected` is a type that a browser sends to
    another site only after a CORS preflight, such as "application/json".
    """
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != expected:
        raise ApiError(415, f"Content-Type must be {expected!r}, got {given[:60]!r}.")


@routes.add(
    "POST",
    "/problems/{problem}/feedback",
    "feedback",
    responses=ndjson_response(
        LineResult,
        "One result for each line, in the same order. A result with status 413 and without "
        "episode is the last one: the lines after it were not read.",
    ),
    errors=(415,),
    bulk=True,
    # A body that is rejected as a whole is not kept, since a withdrawal would not find it there.
    quarantined_fields=(),
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                NDJSON: {"schema": {"type": "string"}, "example": json.dumps(EXAMPLE_LINE) + "\n"}
            },
        }
    },
)
async def send_bulk(problem: ProblemName, request: Request) -> StreamingResponse:
    """Send feedback of many episodes, with one JSON object on each line (NDJSON).

    Each object has the field `episode`, which is the id of an episode, and the fields of a feedback
    request for one episode. Lines are recorded in batches while the body is read. The response
    begins after the last line has been recorded, because few clients read a response while they
    send a request. A request that was interrupted may be sent again: lines that were recorded
    before get the status 200, "already recorded", and have no further effect.
    """
    state, known = await get_problem(request, problem)
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
    error: ApiError | None


class BulkRequest:
    """Recording of a bulk request: lines are recorded in batches, and their results collected.

    `state` is the state of the application. All episodes must belong to `problem`.
    """

    def __init__(self, state: AppState, problem: Problem) -> None:
        self._state = state
        self._problem = problem
        self._results: list[bytes] = []
        self._batch: list[Line] = []  # lines that are not yet recorded
        self._lines_read = 0
        self._lines_answered = 0

    async def read(self, stream: AsyncIterator[bytes]) -> list[bytes]:
        """Record all lines of `stream`, and return the result of each line as a line of JSON.

        If an error occurs before the end of `stream`, no further lines are recorded. The last
        result then states the error; if there are no results yet, the error is raised.
        """
        limit = self._state.settings
        try:
            async for raw in self._split(stream):
                self._lines_read += 1
                line = self._lines_read
                if line > limit.max_bulk_lines:
                    message = f"Too many lines: at most {limit.max_bulk_lines} are allowed."
                    raise ApiError(413, message)
                if len(raw) > limit.max_body_bytes:
                    message = f"at most {limit.max_body_bytes} bytes are allowed."
                    raise ApiError(413, f"Line {line} too large: {message}")
                if raw.strip():
                    self._batch.append(parse_line(line, raw))
                if len(self._batch) >= BATCH_LINES:
                    await self._record()
            await self._record()
        except ApiError as error:
            if error.status == 413:  # record the lines before the error
                await self._record()
            if not self._results:
                raise
            await self._break_off(error)
        return self._results

    async def _split(self, stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Yield the lines of `stream`, and the first part of a line that is too long."""
        max_bytes, rest = self._state.settings.max_body_bytes, b""
        async for chunk in stream:
            *whole, rest = (rest + chunk).split(b"\n")
            if len(rest) > max_bytes:
                whole, rest = [*whole, rest], b""
            for raw in whole:
                yield raw
        if rest:  # otherwise the last line ends with a newline
            yield rest

    async def _break_off(self, reason: ApiError) -> None:
        """Add a last result, which states the `reason` why the request ends."""
        line = self._lines_answered + 1
        if reason.status == 413:
            # If the whole body is too large, its next line was not read.
            line = self._lines_read + isinstance(reason, TooLargeError)
            size = reason.size if isinstance(reason, TooLargeError) else None
            rejection = RejectedRequest(reason.message, size, problem=self._problem.id)
            await quarantine(self._state, [rejection])
        self._add_result(line, None, reason.status, error_json(reason.status, reason.message))

    async def _record(self) -> None:
        """Record the lines that are parsed but not yet recorded, in one transaction."""
        lines, self._batch = self._batch, []
        id = self._problem.id
        rejected = [
            RejectedRequest(line.error.message, line.content, problem=id)
            for line in lines
            if line.error is not None
        ]
        if rejected:
            await quarantine(self._state, rejected)
        events = [
            Feedback(line.episode, *parse_feedback(line.content), id)
            for line in lines
            if line.episode is not None
        ]
        outcomes = iter(await self._state.record(*events) if events else [])
        for line in lines:
            error = line.error
            outcome = next(outcomes) if error is None else Invalid(error.message, error.field)
            self._add_result(line.number, line.episode, *outcome_response(outcome))

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
        error = ApiError(422, "The line must be a JSON object.")
    if error is None and not is_id(body.get("episode")):
        error = ApiError(422, "episode must be the id of an episode.", "episode")
    if error is not None:
        return Line(number, None, body, error)
    return Line(number, body.pop("episode"), body, None)
