"""Idempotency keys: the response to a repeated POST request is the one to the first request.

A client that sends the header Idempotency-Key may repeat the request, for example because the
response was lost. The response to a successful request is stored under the key in the ledger. An
episode that is opened without an id gets an id that is derived from the key, so that the request
opens one episode even if the process ends before the response is stored.
"""

import asyncio
import re
from base64 import urlsafe_b64encode
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from fastapi import Request
from fastapi.responses import Response

from belated.ledger.clients import KEY_LIFETIME_S, MAX_STORED_BYTES, StoredResponse
from belated.service.errors import ApiError
from belated.service.state import get_state

HEADER: Final = "Idempotency-Key"
VALID_KEY: Final = re.compile(rb"[!-~]{1,255}")

PARAMETER: Final[dict[str, Any]] = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "description": "Random text of the client's choice, at least 128 bits. The same request with "
    "the same key and token is answered in the same way and has no further effect, for "
    f"{KEY_LIFETIME_S // 3600} hours. A different request with the same key is rejected with 422.",
    "schema": {"type": "string", "pattern": f"^{VALID_KEY.pattern.decode()}$"},
}
"""OpenAPI entry of the header Idempotency-Key."""


@dataclass
class KeyedRequest:
    """Request with an idempotency key, which routes find as `request.state.keyed`."""

    key: str
    """SHA-256 of the caller and the idempotency key, in hexadecimal."""
    sha: str
    """SHA-256 of the caller, the idempotency key and the request, in hexadecimal."""
    episode: str
    """Id for the episode that the request opens; it is used only if the body contains no id."""
    is_stored: bool = False
    """Whether the route has stored the response. Otherwise, `respond_once` stores it."""

    def stored(self, status: int, **fields: Any) -> StoredResponse:
        """Return a `StoredResponse` for this request.

        `status` is the HTTP status of the response, and `fields` are further fields of
        `StoredResponse`.
        """
        return StoredResponse(self.key, self.sha, status, **fields)


async def respond_once(
    request: Request, call: Callable[[Request], Coroutine[Any, Any, Response]]
) -> Response:
    """Return the response to an authorized `request` with the header Idempotency-Key.

    This is the stored response if the request is repeated, otherwise the response of `call`, which
    handles the request. A concurrent request with the same key waits for the first one. Raises
    ApiError (422) if the key is malformed or was used for a different request.
    """
    key = request.headers[HEADER].encode("latin-1")
    if VALID_KEY.fullmatch(key) is None:
        raise ApiError(422, f"{HEADER} must have 1 .. 255 printable ASCII characters.", HEADER)
    state, keyed = get_state(request), await _parse(request, key)
    async with state.key_locks.setdefault(keyed.key, asyncio.Lock()):
        stored = await state.query_threads.run(state.ledger.idempotency_keys.get, keyed.key)
        if stored is not None:
            if stored.sha != keyed.sha:
                message = f"{HEADER} was used for a different request; send a new key."
                raise ApiError(422, message, field=HEADER)
            if stored.body is not None:
                headers = {"Content-Type": stored.media_type or "application/json"}
                return Response(stored.body, stored.status, headers=headers)
        request.state.keyed = keyed
        response = await call(request)
        if not 200 <= response.status_code < 300:
            return response
        if stored is not None:
            response.status_code = stored.status
        elif not keyed.is_stored:
            body = getattr(response, "body", None)
            body = None if body is None or len(body) > MAX_STORED_BYTES else bytes(body)
            media_type = response.headers.get("content-type")
            await state.record(keyed.stored(response.status_code, media_type=media_type, body=body))
        return response


async def _parse(request: Request, key: bytes) -> KeyedRequest:
    caller = str(request.state.caller).encode()
    target = f"{request.method} {request.url.path}?{request.url.query}".encode()
    # the header contains a secret, so that ids cannot be guessed from keys
    secret = request.headers.get("authorization", "").encode()
    id = _digest(b"episode", secret, caller, key).digest()[:16]
    return KeyedRequest(
        _digest(b"key", caller, key).hexdigest(),
        _digest(b"request", caller, key, target, await request.body()).hexdigest(),
        urlsafe_b64encode(id).rstrip(b"=").decode(),
    )


def _digest(*parts: bytes) -> Any:
    """Return the SHA-256 hash object of `parts`, each preceded by its length."""
    total = sha256()
    for part in parts:
        total.update(len(part).to_bytes(8, "big") + part)
    return total
