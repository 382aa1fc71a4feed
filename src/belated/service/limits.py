"""Limits: a body that is too large is refused before it is read, or where it becomes so."""

from fastapi import Request
from starlette.exceptions import HTTPException
from starlette.types import Message


class TooLargeError(HTTPException):
    """A body that is too large; `seen` tells how many bytes of it were declared or read."""

    def __init__(self, most: int, **seen: int) -> None:
        super().__init__(413, f"The body has more than {most} bytes.")
        self.seen = seen


def limited(request: Request, most: int) -> Request:
    """The same request, of which no more than `most` bytes will be read."""
    said = request.headers.get("content-length", "0")
    if not (said.isascii() and said.isdecimal()):
        raise HTTPException(422, "Content-Length must be a number.")
    if len(said) > 18:
        raise TooLargeError(most)
    if int(said) > most:
        raise TooLargeError(most, declared=int(said))
    receive, read = request.receive, 0

    async def count() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > most:
            raise TooLargeError(most, read=read)
        return message

    return Request(request.scope, count)
