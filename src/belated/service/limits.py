"""Limits: a body that is too large is refused before it is read, or where it becomes so."""

from fastapi import Request
from starlette.exceptions import HTTPException
from starlette.types import Message


def limited(request: Request, most: int) -> Request:
    """The same request, of which no more than `most` bytes will be read."""
    said = request.headers.get("content-length", "0")
    if not (said.isascii() and said.isdecimal()):
        raise HTTPException(422, "Content-Length must be a number.")
    if len(said) > 18 or int(said) > most:
        raise too_large(most)
    receive, read = request.receive, 0

    async def count() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > most:
            raise too_large(most)
        return message

    return Request(request.scope, count)


def too_large(most: int) -> HTTPException:
    """A sentence about a body."""
    return HTTPException(413, f"The body has more than {most} bytes.")
