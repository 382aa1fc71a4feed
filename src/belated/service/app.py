"""The application: routes, what they share, and how it begins and ends."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from fastapi import FastAPI

import belated
from belated.ledger.ledger import Ledger
from belated.online.host import Host
from belated.service import errors
from belated.service.auth import SCOPES
from belated.service.headers import Headers
from belated.service.metrics import Measure
from belated.service.routes import routes
from belated.service.settings import Settings
from belated.service.state import State

ABOUT: Final = """Episodic reinforcement learning when feedback comes back late.

Open an episode, play it with the policy that comes with it, and send what came back whenever it
does: hours or weeks later, in pieces, out of order, twice. What is pending is pending, never a
zero, and there is no window after which it would be too late.

States and actions go by name (a text) or by index (a number); steps count from 0. Every error has
the form of `Error`. Scopes of tokens:
"""


def create_app(
    ledger: Ledger, host: Host | None = None, settings: Settings | None = None, *, plan: bool = True
) -> FastAPI:
    """An application around a ledger, which stays the caller's to close.

    With `plan` the host's thread runs while the application does; without, the caller steps it.
    """
    state = State.of(ledger, host or Host(ledger), settings or Settings())

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        state.commit.start()
        if plan:
            state.host.start()
        try:
            yield
        finally:
            # what was handed in is recorded before anything else ends
            await asyncio.to_thread(state.commit.stop)
            if plan:
                await asyncio.to_thread(state.host.stop)
            await asyncio.to_thread(state.close)

    app = FastAPI(
        title="belated",
        version=belated.__version__,
        description=ABOUT + "\n".join(f"- `{name}`: {what}" for name, what in SCOPES.items()),
        docs_url=None,  # these pages load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,  # to an address that it takes from the caller
        lifespan=lifespan,
        routes=list(routes()),
    )
    app.state.belated = state
    errors.install(app)
    _describe_tokens(app)
    app.add_middleware(Headers)
    app.add_middleware(Measure, metrics=state.metrics)
    return app


def _describe_tokens(app: FastAPI) -> None:
    """Let OpenAPI tell of the tokens that routes ask for."""
    plain = app.openapi

    def openapi() -> dict[str, Any]:
        schema = plain()
        kinds = schema.setdefault("components", {}).setdefault("securitySchemes", {})
        kinds["token"] = {"type": "http", "scheme": "bearer", "description": "belated_ID_SECRET"}
        return schema

    app.openapi = openapi  # type: ignore[method-assign]
