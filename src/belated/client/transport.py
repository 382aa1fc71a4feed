"""Transport: requests to a service, tried again until answered or failed too often."""

import itertools
import json
import logging
import random
import time
from collections.abc import Callable, Iterable, Mapping
from http.client import HTTPException
from typing import Any, Final, ParamSpec, TypeVar
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import HTTPRedirectHandler, Request, build_opener

P = ParamSpec("P")
T = TypeVar("T")

LOG: Final = logging.getLogger("belated.client")

FIRST: Final = 0.2
"""The first wait in seconds; each is twice as long as the one before it, up to `MOST`."""
MOST: Final = 10.0
LONGEST: Final = 60.0
"""The longest wait that a service may ask for, in seconds; the error is raised instead."""


class ServiceError(Exception):
    """What the service refused, in its own words; `status` is None where it was not reached."""

    def __init__(
        self, message: str, status: int | None = None, *, field: str | None = None, wait: float = 0
    ) -> None:
        super().__init__(message)
        self.status = status
        self.field = field
        self.wait = wait
        """How many seconds it asked to wait."""

    @property
    def passing(self) -> bool:
        """Whether the same may well succeed later."""
        return self.status is None or self.status == 429 or self.status >= 500


class Transport:
    """The way to a service at an address."""

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        timeout: float = 10.0,
        retries: int = 6,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"url is {url!r}; it must begin with http:// or https://.")
        self.url = url.rstrip("/")
        self._headers = {} if token is None else {"Authorization": f"Bearer {token.strip()}"}
        self._timeout = timeout
        self._retries = retries
        self._sleep = sleep
        self._opener = build_opener(_Stay)

    def json(self, method: str, *path: str, body: Mapping[str, Any] | None = None) -> Any:
        """What is answered to JSON, as JSON."""
        data = b"" if body is None else write(body)
        headers = {"Content-Type": "application/json"} if data else {}
        return read(self.trying(self.ask, method, path, data, headers)[0])

    def trying(self, ask: Callable[P, T], *given: P.args, **options: P.kwargs) -> T:
        """Ask until it is answered, or has failed too often."""
        for tried in itertools.count():
            try:
                return ask(*given, **options)
            except ServiceError as error:
                if not error.passing or tried >= self._retries or error.wait > LONGEST:
                    raise
                if tried == 0:
                    LOG.warning("%s Trying again.", error)
                # apart from each other, or all who were cut off would come back at once
                backoff = min(FIRST * 2**tried, MOST) * random.uniform(0.5, 1)
                self._sleep(max(error.wait, backoff))
        raise AssertionError

    def ask(
        self, method: str, path: Iterable[str], data: bytes, headers: Mapping[str, str]
    ) -> tuple[bytes, str]:
        """One request; returns the body, which is empty for a 304, and its tag."""
        address = "/".join([self.url, "v1", *(quote(part, safe="") for part in path)])
        body = data if method == "POST" else None
        request = Request(address, body, {**self._headers, **headers}, method=method)
        try:
            with self._opener.open(request, timeout=self._timeout) as answer:
                return answer.read(), answer.headers.get("ETag", "")
        except HTTPError as error:
            with error:
                if error.code == 304:
                    return b"", error.headers.get("ETag", "")
                raise _refusal(error) from None
        except (OSError, HTTPException) as error:
            why = getattr(error, "reason", error)
            raise ServiceError(f"{self.url} cannot be reached: {why}.") from error


class _Stay(HTTPRedirectHandler):
    """Follows nowhere: a token is for the address that was given."""

    def redirect_request(self, *given: Any, **options: Any) -> None:
        return None


def _refusal(error: HTTPError) -> ServiceError:
    """What an answer other than 2xx says; one from a proxy may say nothing."""
    try:
        said = json.loads(error.read())
        message, where = str(said["message"]), said["field"]
    except (OSError, HTTPException, ValueError, TypeError, KeyError):
        message, where = f"The service answered {error.code} {error.reason}.", None
    wait = error.headers.get("Retry-After", "")
    seconds = float(wait) if wait.isascii() and wait.isdecimal() else 0.0
    return ServiceError(message, error.code, field=where, wait=seconds)


def write(body: Any) -> bytes:
    """As JSON."""
    return json.dumps(body, default=_plain, allow_nan=False).encode()


def _plain(value: Any) -> Any:
    """Arrays and their numbers as JSON has them."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{value!r} cannot be sent; it must be a text, a number or a list of them.")


def read(raw: bytes) -> Any:
    """From JSON."""
    try:
        return json.loads(raw)
    except ValueError:
        raise ServiceError("The answer is not JSON; is this the address of the service?") from None
