"""Conversion of arguments to requests: episodes, times, and the lines of a bulk request."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final, Union

from .policies import OpenEpisode
from .transport import to_json

MAX_BULK_LINES: Final = 500
"""Maximum number of lines in one bulk request."""
MAX_BULK_BYTES: Final = 1_000_000
"""Maximum size of a bulk request in bytes. A larger line is sent as a request of its own."""

EpisodeRef = Union[OpenEpisode, str]
"""Episode that was opened, or the id of an episode."""
EventTime = Union[datetime, str, None]
"""Time at which an event happened: a datetime with a time zone, or a text in ISO 8601 with a time
zone. None for the time of recording."""


def split_into_batches(lines: Iterable[Mapping[str, Any]]) -> Iterator[list[bytes]]:
    """Convert `lines` to JSON, and yield them in batches, each for one bulk request.

    A batch respects `MAX_BULK_LINES` and `MAX_BULK_BYTES`. Raise TypeError if `lines` is a single
    object, or if a line has no field `episode`.
    """
    batch: list[bytes] = []
    size = 0
    if isinstance(lines, (Mapping, str, bytes)):
        raise TypeError(
            f"lines must be a list of objects, one for each episode, got {reprlib.repr(lines)}."
        )
    for number, fields in enumerate(lines, start=1):
        if not isinstance(fields, Mapping) or "episode" not in fields:
            raise TypeError(
                f"Line {number} must be an object with the field 'episode', "
                f"got {reprlib.repr(fields)}."
            )
        body = {**fields, "episode": episode_id(fields["episode"])}
        if "event_time" in body:
            body["event_time"] = format_time(body["event_time"])
        line = to_json(body) + b"\n"
        if batch and (len(batch) == MAX_BULK_LINES or size + len(line) > MAX_BULK_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(line)
        size += len(line)
    if batch:
        yield batch


def episode_id(episode: EpisodeRef) -> str:
    """Return the id of `episode`, an open episode or an id. Raise TypeError if it is neither."""
    if isinstance(episode, OpenEpisode):
        return episode.id
    if isinstance(episode, str):
        return episode
    raise TypeError(
        "episode must be an episode returned by open_episode, or its id as a text, "
        f"got {reprlib.repr(episode)}."
    )


def format_time(value: EventTime) -> str | None:
    """Return the time `value` as text in ISO 8601; None if `value` is None.

    A text is returned unchanged. Raise ValueError if a datetime has no time zone.
    """
    if not isinstance(value, datetime):
        return value
    if value.tzinfo is None:
        raise ValueError(
            f"event_time must have a time zone, got {value!r}; "
            "use datetime(..., tzinfo=timezone.utc) or value.astimezone()."
        )
    return value.isoformat()
