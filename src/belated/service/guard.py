"""Guard: nobody gets to a route without what it asks for, and each route has to ask.

A route declares its scope next to itself:

    @router.get("/v1/problems")
    @scope("read")
    async def ...

One without a scope is refused when it is made. A token for one problem is good for the routes
under that problem and its episodes, and for no other.
"""

from collections.abc import Callable, Coroutine, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import urlsplit

from fastapi import Request
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from belated.ledger.store import OUTAGES
from belated.ledger.tokens import Token
from belated.service.auth import SCOPES, allows, find, is_loopback
from belated.service.errors import (
    REFUSALS,
    RefusalError,
    documented,
    respond,
    unavailable,
    unexpected,
)
from belated.service.limits import limited
from belated.service.refusals import keep
from belated.service.state import State, state_of

F = TypeVar("F", bound=Callable[..., Any])

LOCAL: Final = "local"
"""Who calls where no token is needed."""
CHALLENGE: Final = {"WWW-Authenticate": "Bearer"}


class Needs(NamedTuple):
    """What a route asks for."""

    scope: str
    bulk: bool
    kept: Sequence[str] | None
    plain: bool


def scope(
    name: str,
    *,
    bulk: bool = False,
    kept: Sequence[str] | None = None,
    plain: bool = False,
) -> Callable[[F], F]:
    """Say which scope a route needs.

    - `bulk` lets its body be larger.
    - `kept`: of a body that is refused, these fields go to the quarantine; all of it if none are
      given.
    - `plain`: it takes the parts of its address and the request as they are, and checks them by
      itself: what is asked most goes without the framework's machinery.
    """
    if name not in SCOPES:
        raise ValueError(f"scope is {name!r}; allowed are {', '.join(SCOPES)}.")

    def declare(endpoint: F) -> F:
        endpoint.needs = Needs(name, bulk, kept, plain)  # type: ignore[attr-defined]
        return endpoint

    return declare


class Guarded(APIRoute):
    """A route that asks for a token, and reads no more than it has to."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        needs = getattr(endpoint, "needs", None)
        if not isinstance(needs, Needs):
            raise TypeError(f"{path} declares no scope.")
        self.needs = needs
        given = options.get("responses") or {}
        options["responses"] = {**documented(401, 403, 422, 500, 503), **given}
        options["openapi_extra"] = {
            **(options.get("openapi_extra") or {}),
            "security": [{"token": [needs.scope]}],
        }
        super().__init__(path, endpoint, **options)
        if needs.plain:
            self._handle = self.get_route_handler()
            self.app = self._plain

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """What a request comes to."""
        answer, needs = super().get_route_handler(), self.needs
        if needs.plain:
            answer = self._unchecked

        async def handle(request: Request) -> Response:
            state = state_of(request)
            try:
                request.state.caller = await admit(request, state, needs.scope)
                most = state.settings.bulk if needs.bulk else state.settings.body
                request = limited(request, most)
                return await answer(request)
            except REFUSALS as error:
                if isinstance(error.__cause__, ClientDisconnect):
                    return Response(status_code=400)  # nobody reads it
                await keep(request, error, needs.kept)
                raise
            except ClientDisconnect:
                return Response(status_code=400)  # nobody reads it
            except OUTAGES:
                return respond(unavailable("The store cannot be reached. Try again."))
            except Exception as error:
                return unexpected(request, error)

        return handle

    async def _unchecked(self, request: Request) -> Response:
        response: Response = await self.endpoint(**request.path_params, request=request)
        return response

    async def _plain(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._handle(Request(scope, receive, send))
        await response(scope, receive, send)


async def admit(request: Request, state: State, scope: str) -> str:
    """The id of the caller's token, if it is good for this."""
    tokens = await state.keyring.tokens()
    if not tokens and state.settings.open:
        check_local(request)
        return LOCAL
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    token = find(tokens, text.strip()) if scheme.lower() == "bearer" else None
    if token is None:
        raise RefusalError(401, "A good token is needed: Bearer belated_...", headers=CHALLENGE)
    if not allows(token, scope):
        raise RefusalError(403, f"This token lacks the scope {scope!r}.")
    if token.problem is not None:
        await check_problem(request, state, token)
    return token.id


async def check_problem(request: Request, state: State, token: Token) -> None:
    """Refuse what is not of the token's problem; an unknown episode may become another's yet."""
    given = request.path_params
    if "problem" in given:
        known = await state.directory.problem(given["problem"])
        if known is not None and known.id == token.problem:
            return
    elif "episode" in given:
        place = await state.directory.place(given["episode"])
        if place is None:
            raise RefusalError(404, "There is no such episode.")
        if place.problem == token.problem:
            return
    raise RefusalError(403, "This token is for one problem, and this is not of it.")


def check_local(request: Request) -> None:
    """Refuse what another site may have made a browser send."""
    host, origin = request.headers.get("host", ""), request.headers.get("origin")
    if not (is_local(f"//{host}") and (origin is None or is_local(origin))):
        raise RefusalError(403, "Without tokens, only this machine is answered.")


@lru_cache(maxsize=64)
def is_local(address: str) -> bool:
    """Whether an address is one of this machine's.

    >>> is_local("//localhost:8000"), is_local("https://example.org")
    (True, False)
    """
    try:
        name = urlsplit(address).hostname
    except ValueError:
        return False
    return name is not None and is_loopback(name)
