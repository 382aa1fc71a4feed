"""Headers that tell a browser to do nothing clever with the answers."""

from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}
RAW: Final = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]


class Headers:
    """Adds them to each answer that does not bring its own."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def add(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = list(message.get("headers", ()))
                names = {name for name, _ in given}
                message["headers"] = given + [one for one in RAW if one[0] not in names]
            await send(message)

        await self._app(scope, receive, add)
