"""Application of the service in this process, with a client that needs no socket."""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Self, TypeVar

import httpx
from fastapi import FastAPI

from belated.ledger import Ledger
from belated.online.host import Host
from belated.service import Settings, create_app
from belated.service.openapi import EXAMPLES
from belated.service.schemas import EXAMPLE_ID as ID
from belated.service.tokens import create_token

T = TypeVar("T")

__all__ = ["CLINIC", "ID", "NDJSON", "PLAYED", "SHOP", "Site", "wait_until"]

CLINIC: dict[str, Any]
SHOP: dict[str, Any]
CLINIC, SHOP = EXAMPLES["NewProblem"]
NDJSON = {"content-type": "application/x-ndjson"}
PLAYED: dict[str, Any] = {
    "states": ["ill", "ill", "well", "well"],
    "actions": ["wait", "wait", "treat"],
    "rewards": [0, 0.5, 1],
}
"""Feedback of an episode of the clinic."""


def wait_until(true: Callable[[], bool]) -> None:
    """Wait until `true()` holds, for at most 30 seconds."""
    deadline = time.monotonic() + 30
    while not true():
        assert time.monotonic() < deadline


class Site:
    """Service on a ledger, with its event loop in a thread."""

    def __init__(self, ledger: Ledger, *, plan: bool = False, **settings: Any) -> None:
        given = {"open": True, "served_version_ttl_s": 0.0, "token_ttl_s": 0.0} | settings
        self.ledger = ledger
        self.host = Host(ledger, interval=0.05)
        self.app: FastAPI = create_app(ledger, self.host, Settings(**given), plan=plan)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)

    def __enter__(self) -> Self:
        self._thread.start()
        self._life = self.app.router.lifespan_context(self.app)
        self.run(self._life.__aenter__())
        transport = httpx.ASGITransport(self.app)
        self._client = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")
        return self

    def __exit__(self, *error: object) -> None:
        self.run(self._client.aclose())
        self.run(self._life.__aexit__(None, None, None))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self.host.stop()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of `work`, run on the application's event loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    def start(self, work: Coroutine[Any, Any, T]) -> Callable[[], T]:
        """Start `work` on that loop; return a function that waits for its result."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        return lambda: future.result(60)

    def ask(self, method: str, path: str, token: str | None = None, **body: Any) -> httpx.Response:
        """Send one request and return the response."""
        return self.run(self.asking(method, path, token, **body))

    def asking(
        self, method: str, path: str, token: str | None = None, **body: Any
    ) -> Coroutine[Any, Any, httpx.Response]:
        """Return a request that can be awaited."""
        headers = dict(body.pop("headers", {}))
        if token is not None:
            headers["authorization"] = f"Bearer {token}"
        return self._client.request(method, path, headers=headers, **body)

    def ask_together(
        self, requests: Sequence[Coroutine[Any, Any, httpx.Response]]
    ) -> list[httpx.Response]:
        """Send several `requests` concurrently and return the responses."""

        async def all_of_them() -> list[httpx.Response]:
            return await asyncio.gather(*requests)

        return self.run(all_of_them())

    def get(self, path: str, **body: Any) -> httpx.Response:
        """Send a GET request."""
        return self.ask("GET", path, **body)

    def post(self, path: str, json: Any = None, **body: Any) -> httpx.Response:
        """Send a POST request."""
        return self.ask("POST", path, **({"json": json} if json is not None else {}), **body)

    def delete(self, path: str, **body: Any) -> httpx.Response:
        """Send a DELETE request."""
        return self.ask("DELETE", path, **body)

    def define(self, name: str = "clinic", **changes: Any) -> None:
        """Define a problem like `CLINIC` with `changes`."""
        answer = self.post("/v1/problems", {**CLINIC, "name": name, **changes})
        assert answer.status_code == 201, answer.text

    def open(self, problem: str = "clinic", **given: Any) -> str:
        """Open an episode; return its id."""
        answer = self.post(f"/v1/problems/{problem}/episodes", given or None)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["episode"])

    def token(self, *scopes: str, problem: str | None = None) -> str:
        """Create a token with these `scopes`; return its text."""
        made = create_token()
        found = None if problem is None else self.ledger.problem(problem)
        id = None if found is None else found.id
        self.ledger.tokens.add(made.id, made.hash, scopes=scopes, problem=id)
        return made.text
