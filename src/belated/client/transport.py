"""HTTP requests to the service, with retries."""

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

FIRST_BACKOFF_S: Final = 0.2
"""Seconds before the first retry. Each further waiting time is twice as long."""
MAX_BACKOFF_S: Final = 10.0
"""Maximum of these waiting times, in seconds."""
MAX_RETRY_AFTER_S: Final = 60.0
"""Maximum Retry-After, in seconds; beyond it the error is raised instead."""


class ServiceError(Exception):
    """Error that the service reported, or failure to reach it.

    Parameters
    ----------
    message : str
        Explanation, as the service states it.
    status : int | None
        HTTP status; None if the service was not reached.
    field : str | None
        Field of the request that is wrong.
    retry_after_s : float
        Seconds after which the service asks to retry.
    """

    def __init__(
        self,
        message: str,
        status: int | None = None,
        *,
        field: str | None = None,
        retry_after_s: float = 0,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.field = field
        self.retry_after_s = retry_after_s

    @property
    def is_transient(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status is None or self.status == 429 or self.status >= 500


class Transport:
    """Connection to the service at one address; the parameters are those of `Client`."""

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
            raise ValueError(f"url must begin with http:// or https://, got {url!r}.")
        self.url = url.rstrip("/")
        self._headers = {} if token is None else {"Authorization": f"Bearer {token.strip()}"}
        self._timeout = timeout
        self._retries = retries
        self._sleep = sleep
        self._opener = build_opener(_NoRedirects)

    def json(self, method: str, *path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Send a request with retries and return the JSON value of the response.

        Parameters
        ----------
        method : str
            HTTP method.
        *path : str
            Parts of the path below /v1, not yet quoted.
        body : Mapping[str, Any] | None
            JSON object to send.

        Returns
        -------
        Any
            JSON value.
        """
        data = b"" if body is None else to_json(body)
        headers = {"Content-Type": "application/json"} if data else {}
        return parse_json(self.retry(self.send, method, path, data, headers)[0])

    def retry(self, send: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
        """Return `send(*args, **options)`, repeated while it raises a transient ServiceError."""
        for attempt in itertools.count():
            try:
                return send(*args, **options)
            except ServiceError as error:
                final = attempt >= self._retries or error.retry_after_s > MAX_RETRY_AFTER_S
                if final or not error.is_transient:
                    raise
                if attempt == 0:
                    LOG.warning("%s Retrying.", error)
                # Jitter: clients that failed together must not come back together.
                backoff = min(FIRST_BACKOFF_S * 2**attempt, MAX_BACKOFF_S) * random.uniform(0.5, 1)
                self._sleep(max(error.retry_after_s, backoff))
        raise AssertionError

    def send(
        self, method: str, path: Iterable[str], data: bytes, headers: Mapping[str, str]
    ) -> tuple[bytes, str]:
        """Send one request.

        Parameters
        ----------
        method : str
            HTTP method.
        path : Iterable[str]
            Parts of the path below /v1, not yet quoted.
        data : bytes
            Body, sent only with POST.
        headers : Mapping[str, str]
            Headers apart from Authorization.

        Returns
        -------
        tuple[bytes, str]
            Body, empty for a 304, and ETag of the response.

        Raises
        ------
        ServiceError
            For any other status, or if the service cannot be reached.
        """
        address = "/".join([self.url, "v1", *(quote(part, safe="") for part in path)])
        body = data if method == "POST" else None
        request = Request(address, body, {**self._headers, **headers}, method=method)
        try:
            with self._opener.open(request, timeout=self._timeout) as response:
                return response.read(), response.headers.get("ETag", "")
        except HTTPError as error:
            with error:
                if error.code == 304:
                    return b"", error.headers.get("ETag", "")
                raise _service_error(error) from None
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", error)
            raise ServiceError(f"{self.url} cannot be reached: {reason}.") from error


class _NoRedirects(HTTPRedirectHandler):
    """Follows no redirects: a token is only for the address that was given."""

    def redirect_request(self, *args: Any, **options: Any) -> None:
        return None


def _service_error(error: HTTPError) -> ServiceError:
    """Return the error that a response states. One from a proxy may not be JSON."""
    try:
        body = json.loads(error.read())
        message, field = str(body["message"]), body["field"]
    except (OSError, HTTPException, ValueError, TypeError, KeyError):
        message, field = f"The service answered {error.code} {error.reason}.", None
    header = error.headers.get("Retry-After", "")
    retry_after_s = float(header) if header.isascii() and header.isdecimal() else 0.0
    return ServiceError(message, error.code, field=field, retry_after_s=retry_after_s)


def to_json(body: Any) -> bytes:
    """Return `body` as JSON. NumPy arrays and numbers are converted."""
    return json.dumps(body, default=_convert, allow_nan=False).encode()


def _convert(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"Values must be strings, numbers or lists of these, got {value!r}.")


def parse_json(raw: bytes) -> Any:
    """Return the value of the JSON text `raw`; raise ServiceError if it is not JSON."""
    try:
        return json.loads(raw)
    except ValueError:
        raise ServiceError(
            "The response is not JSON; is the address of the service right?"
        ) from None
