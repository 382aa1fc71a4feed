"""Authorization of requests: each route has the scope that a token must have.

A token that is restricted to one problem is accepted only in requests for this problem and its
episodes.
"""

import ipaddress
from collections.abc import Callable, Coroutine, Sequence
from functools import lru_cache
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from belated.ledger.clients import Token
from belated.ledger.store import OUTAGES
from belated.service.bodies import limit_body
from belated.service.errors import (
    ApiError,
    describe_faults,
    error_response,
    error_responses,
    store_unavailable,
    unexpected_error_response,
)
from belated.service.idempotency import HEADER, PARAMETER, respond_once
from belated.service.quarantine import quarantine_request
from belated.service.state import AppState, get_state
from belated.service.tokens import find_token

F = TypeVar("F", bound=Callable[..., Any])

LOCAL_CALLER: Final = "local"
"""Value that is used in place of the id of a token for a request that needs no token."""


PROXY_HEADERS: Final = frozenset({b"forwarded", b"via"})
"""Names of headers with which a proxy marks a request that it forwards."""
PROXY_HEADER_PREFIX: Final = b"x-forwarded-"
"""Beginning of the names of other headers with which a proxy marks a request that it forwards."""


class AuthorizedRoute(APIRoute):
    """Route that checks the token, limits the body's size and quarantines rejected requests.

    The errors that these steps cause are described in the OpenAPI document. The endpoint reads the
    body itself, and returns a response. FastAPI is bypassed, which saves time, unless it must
    validate a parameter that is not a string.

    Parameters
    ----------
    path : str
        Pattern of the path.
    endpoint : Callable
        Coroutine function that handles a request.
    scope : str
        Scope that a token must have.
    errors : Sequence[int]
        HTTP statuses of errors that the endpoint causes.
    repeated : str | None
        Description of the response with the status 200 to a repeated request, if the status of a
        response is 201 otherwise; None if the status is always 200.
    bulk : bool
        Whether the size of the body is limited by `max_bulk_bytes` instead of `max_body_bytes`.
    quarantined_fields : Sequence[str] | None
        Fields of a rejected body to keep in the quarantine; None to keep the whole body.
    all_problems : bool
        Whether the route reads several problems. If so, a token that is restricted to one problem
        is accepted, and the route must return only this problem, whose id is
        `request.state.problem`.
    **options : Any
        Options of `APIRoute`.
    """

    def __init__(
        self,
        path: str,
        endpoint: Callable[..., Any],
        *,
        scope: str,
        errors: Sequence[int] = (),
        repeated: str | None = None,
        bulk: bool = False,
        quarantined_fields: Sequence[str] | None = None,
        all_problems: bool = False,
        **options: Any,
    ) -> None:
        self.scope = scope
        self.bulk = bulk
        self.quarantined_fields = quarantined_fields
        self.all_problems = all_problems
        extra = dict(options.get("openapi_extra") or {})
        statuses = [401, 403, 422, 429, 500, 503, *errors]
        if "{problem}" in path or "{episode}" in path:
            statuses.append(404)
        if "POST" in options["methods"]:
            statuses.append(413)
            extra["parameters"] = [*extra.get("parameters", ()), PARAMETER]
        responses = {**error_responses(*statuses), **options.get("responses", {})}
        if repeated is not None:
            options["status_code"] = 201
            responses[200] = {"model": options["response_model"], "description": repeated}
        options["responses"] = responses
        options["openapi_extra"] = {**extra, "security": [{"token": [scope]}]}
        super().__init__(path, endpoint, **options)
        parameters = [*self.dependant.path_params, *self.dependant.query_params]
        if all(parameter.field_info.annotation is str for parameter in parameters):
            self._handle = self._authorized(
                lambda request: endpoint(**request.path_params, request=request)
            )
            self.app = self._call_directly

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the function that authorizes a request and computes the response to it."""
        return self._authorized(super().get_route_handler())

    def _authorized(
        self, call: Callable[[Request], Coroutine[Any, Any, Response]]
    ) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return a function like `call` that authorizes a request first, and limits its body."""

        async def handle(request: Request) -> Response:
            state = get_state(request)
            limit = state.settings
            max_bytes = limit.max_bulk_bytes if self.bulk else limit.max_body_bytes
            try:
                request.state.caller = await authorize(request, state, self)
                if request.scope["query_string"]:
                    self._check_query(request)
                request = limit_body(request, max_bytes)
                if request.method == "POST" and HEADER in request.headers:
                    return await respond_once(request, call)
                return await call(request)
            except (ApiError, RequestValidationError) as error:
                found = error if isinstance(error, ApiError) else describe_faults(error.errors())
                await quarantine_request(request, found, self.quarantined_fields)
                return error_response(found)
            except ClientDisconnect:
                return Response(status_code=400)  # nobody receives it
            except (*OUTAGES, TimeoutError) as error:
                state.reads.failed(error)
                return error_response(store_unavailable(error))
            except Exception as error:
                return unexpected_error_response(request, error)

        return handle

    def _check_query(self, request: Request) -> None:
        """Raise ApiError (422) if `request` has a query parameter that the route does not have."""
        known = [parameter.alias for parameter in self.dependant.query_params]
        for name in request.query_params:
            if name not in known:
                expected = f"its parameters are {', '.join(known)}" if known else "it has none"
                raise ApiError(
                    422,
                    f"{name[:60]!r} is not a query parameter of this route; {expected}.",
                    field=name if name.isidentifier() and len(name) <= 60 else None,
                )

    async def _call_directly(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._handle(Request(scope, receive, send))
        await response(scope, receive, send)


class Routes(list[APIRoute]):
    """Routes of one `topic`, whose paths begin with `prefix`.

    @problems.add("GET", "/{problem}", "read", Problem)
    async def ...
    """

    def __init__(self, topic: str, prefix: str = "/v1") -> None:
        super().__init__()
        self._topic = topic
        self._prefix = prefix

    def add(
        self, method: str, path: str, scope: str, model: Any = None, **options: Any
    ) -> Callable[[F], F]:
        """Return a decorator that adds a route for a function.

        `scope` is the scope that a token must have, and `model` the type of the response if this is
        JSON. `options` are further options of `AuthorizedRoute`.
        """

        def declare(endpoint: F) -> F:
            route = AuthorizedRoute(
                self._prefix + path,
                endpoint,
                scope=scope,
                methods=[method],
                response_model=model,
                response_class=JSONResponse if model else Response,
                tags=[self._topic],
                **options,
            )
            self.append(route)
            return endpoint

        return declare


async def authorize(request: Request, state: AppState, route: AuthorizedRoute) -> str:
    """Return the id of the caller's token, or `LOCAL_CALLER` if no token is needed.

    Parameters
    ----------
    request : Request
        Request with the token in its Authorization header.
    state : AppState
        State of the application.
    route : AuthorizedRoute
        Route of the request, with the scope that the token must have.

    Raises
    ------
    ApiError
        401 if the token is missing, invalid or expired, 403 if the token does not allow the
        request, 429 if there were too many requests with the token.
    """
    tokens = await state.tokens()
    if not tokens and state.settings.open:
        check_local(request)
        return LOCAL_CALLER
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    token = find_token(tokens, text.strip()) if scheme.lower() == "bearer" else None
    if token is None:
        message = "Missing or invalid token; send the header 'Authorization: Bearer belated_...'."
        raise ApiError(401, message, headers={"WWW-Authenticate": "Bearer"})
    now = state.ledger.store.now()
    if not token.is_valid(now):
        message = "This token has expired; an administrator can create a new one."
        raise ApiError(401, message, headers={"WWW-Authenticate": "Bearer"})
    state.rate_limiter.check(token.id)
    state.note_use(token, now)
    if route.scope not in token.scopes and "admin" not in token.scopes:
        raise ApiError(403, f"This token lacks the scope {route.scope!r}.")
    if route.all_problems:
        request.state.problem = token.problem
    elif token.problem is not None:
        await check_problem(request, state, token)
    return token.id


async def check_problem(request: Request, state: AppState, token: Token) -> None:
    """Raise ApiError (403) unless a request concerns the problem to which its token is restricted.

    Parameters
    ----------
    request : Request
        Request to check. A request for an unknown episode is rejected with a 404, because the
        episode might be opened in another problem before the request is recorded.
    state : AppState
        State of the application.
    token : Token
        Token of the request, restricted to one problem.
    """
    parameters = request.path_params
    if "problem" in parameters:
        problem = await state.find_problem(parameters["problem"])
        if problem is not None and problem.id == token.problem:
            return
    elif "episode" in parameters:
        episode = await state.episode(parameters["episode"])
        if episode is None:
            raise ApiError(404, "Episode not found.")
        if episode.problem == token.problem:
            return
    raise ApiError(
        403, "This token is restricted to one problem; this request does not belong to it."
    )


def check_local(request: Request) -> None:
    """Raise ApiError if `request` may come from another machine or another web site.

    A request with headers of a proxy is rejected, because a proxy on this machine may forward
    requests of other machines. A page on another port of this machine is another web site.
    """
    headers = dict(request.scope["headers"])  # quicker than three lookups by name
    host, origin = headers.get(b"host", b""), headers.get(b"origin")
    if not is_local_host(host):
        raise ApiError(403, "Without tokens, only requests from this machine are accepted.")
    if origin is not None:
        page = f"{request.scope['scheme']}://".encode() + host
        if origin.lower() != page.lower():
            message = "Without tokens, only the page of this service may send requests."
            raise ApiError(403, f"{message} Create a token.")
    if [name for name in headers if name in PROXY_HEADERS or name.startswith(PROXY_HEADER_PREFIX)]:
        raise ApiError(403, "Without tokens, no forwarded requests are accepted; create a token.")


@lru_cache(maxsize=64)
def is_local_host(host: bytes) -> bool:
    """Return whether `host`, the header Host of a request, is "localhost" or a loopback address.

    >>> is_local_host(b"localhost:8000"), is_local_host(b"example.org")
    (True, False)
    """
    try:
        name = urlsplit(f"//{host.decode('latin-1')}").hostname
    except ValueError:
        return False
    return name is not None and is_loopback(name)


@lru_cache(maxsize=64)
def is_loopback(host: str) -> bool:
    """Return whether `host` is "localhost" or a loopback IP address.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
