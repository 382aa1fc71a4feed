"""Creation of the FastAPI application: routes, state, middleware, startup and shutdown."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from fastapi import FastAPI
from starlette.exceptions import HTTPException

import belated
from belated.ledger.ledger import Ledger
from belated.online.host import Host
from belated.service.errors import reject_unknown
from belated.service.limits import Settings
from belated.service.openapi import complete_openapi
from belated.service.operations.middleware import RequestMiddleware
from belated.service.routes import routes
from belated.service.state import AppState
from belated.service.tokens import SCOPES

DESCRIPTION: Final = """Episodic reinforcement learning with delayed feedback.

Open an episode, follow the policy in the response, and send feedback whenever it is available:
hours or weeks later, in parts, out of order, or repeatedly. Missing feedback counts as pending,
never as a reward of zero, and there is no deadline.

States and actions are given by name (string) or by index (number); steps count from 0. Every error
has the form of `Error`. Scopes of tokens:
"""


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
        if plan:
            state.host.start()
        try:
            yield
        finally:
            # Accepted events are recorded before anything else stops.
            await state.group_commit.stop()
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
        telemetry={"tracing": False, "metrics": False, "logs": False},  # see `Metrics` instead
        lifespan=lifespan,
        routes=list(routes()),
        exception_handlers={HTTPException: reject_unknown},
    )
    app.state.belated = state
    complete_openapi(app)
    app.add_middleware(RequestMiddleware, metrics=state.metrics)
    return app
