"""Creation of the FastAPI application: routes, state, middleware, startup and shutdown."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from fastapi import FastAPI
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import belated
from belated.ledger.ledger import Ledger
from belated.online.host import Host
from belated.service.errors import install_error_handlers
from belated.service.metrics import MetricsMiddleware
from belated.service.operations.request_ids import HEADER, RequestIds
from belated.service.routes import routes
from belated.service.settings import Settings
from belated.service.state import AppState
from belated.service.tokens import SCOPES

DESCRIPTION: Final = """Episodic reinforcement learning with delayed feedback.

Open an episode, follow the policy in the response, and send feedback whenever it is available:
hours or weeks later, in parts, out of order, or repeatedly. Missing feedback counts as pending,
never as a reward of zero, and there is no deadline.

States and actions are given by name (string) or by index (number); steps count from 0. Every error
has the form of `Error`. Scopes of tokens:
"""

SECURITY_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}


class ResponseHeadersMiddleware:
    """ASGI middleware that adds `SECURITY_HEADERS` and a request id to the responses of `app`.

    A header that a response of `app` already has is kept.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._ids = RequestIds()
        self._headers = [
            (name.lower().encode(), value.encode()) for name, value in SECURITY_HEADERS.items()
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        id = self._ids.assign(scope.get("headers", ()))

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = list(message.get("headers", ()))
                names = {name for name, _ in own}
                own += [pair for pair in self._headers if pair[0] not in names]
                own.append((HEADER, id))
                message["headers"] = own
            await send(message)

        await self._app(scope, receive, send_with_headers)


def create_app(
    ledger: Ledger, host: Host | None = None, settings: Settings | None = None, *, plan: bool = True
) -> FastAPI:
    """Create the application that serves the problems in a ledger.

    Parameters
    ----------
    ledger : Ledger
        Ledger to serve. The caller must close it.
    host : Host | None
        Host that computes the state and the policies of each problem from the events in `ledger`;
        None to create a host.
    settings : Settings | None
        Limits on requests, and lifetimes of cached values; None for `Settings()`.
    plan : bool
        Whether to run the background thread of the host during the lifetime of the application. If
        False, the caller must call `host.step`.

    Returns
    -------
    FastAPI
        ASGI application.
    """
    state = AppState(ledger, host or Host(ledger), settings or Settings())

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        state.group_commit.start()
        if plan:
            state.host.start()
        try:
            yield
        finally:
            # Accepted events are recorded before anything else stops.
            await asyncio.to_thread(state.group_commit.stop)
            if plan:
                await asyncio.to_thread(state.host.stop)
            await asyncio.to_thread(state.close)

    app = FastAPI(
        title="belated",
        version=belated.__version__,
        description=DESCRIPTION + "\n".join(f"- `{name}`: {text}" for name, text in SCOPES.items()),
        docs_url=None,  # the pages of FastAPI load scripts from other sites
        redoc_url=None,
        redirect_slashes=False,  # redirects would use the caller's Host header
        lifespan=lifespan,
        routes=list(routes()),
    )
    app.state.belated = state
    install_error_handlers(app)
    _describe_tokens(app)
    app.add_middleware(ResponseHeadersMiddleware)
    app.add_middleware(MetricsMiddleware, metrics=state.metrics)
    return app


def _describe_tokens(app: FastAPI) -> None:
    """Add the security scheme of the tokens to the OpenAPI schema of `app`."""
    build_schema = app.openapi

    def openapi() -> dict[str, Any]:
        schema = build_schema()
        schemes = schema.setdefault("components", {}).setdefault("securitySchemes", {})
        schemes["token"] = {"type": "http", "scheme": "bearer", "description": "belated_ID_SECRET"}
        return schema

    app.openapi = openapi  # type: ignore[method-assign]
