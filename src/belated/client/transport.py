"""HTTP requests to the service, with retries."""

from __future__ import annotations

import itertools
import json
import logging
import random
import socket
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPException
from typing import Any, Final, TypeVar
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import HTTPRedirectHandler, Request, build_opener

T = TypeVar("T")

LOG: Final = logging.getLogger("belated.client")

FIRST_BACKOFF_S: Final = 0.2
"""Maximum time in seconds to wait before the first retry; it doubles with each further retry."""
MAX_BACKOFF_S: Final = 10.0
"""Maximum waiting time between two retries, in seconds."""
RETRIES: Final = 13
"""Default number of retries.

With this number, the client waits 41 to 83 s in all, longer than a restart of the service takes."""
MAX_RETRY_AFTER_S: Final = 60.0
"""Maximum value of the header Retry-After, in seconds; with a larger value, there is no retry."""


class ServiceError(Exception):
    """Error reported by the service, or failure to reach the service.

    Parameters
    ----------
    message : str
        Explanation of the error.
    status : int | None
        HTTP status; None if the service was not reached.
    field : str | None
        Name of the request field at fault; None if no single field is at fault.
    retry_after_s : float
        Minimum waiting time before a retry, in seconds, from the header Retry-After; 0 without this
        header.
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
        """Whether the same request may succeed later.

        True if the service was not reached, or if the status is 429 or 5xx.
        """
        return self.status is None or self.status == 429 or self.status >= 500


@dataclass
class Transport:
    """Sender of HTTP requests to the service at one URL. The fields are parameters of `Client`."""

    url: str
    token: str | None = field(repr=False)
    timeout: float
    retries: int
    sleep: Callable[[float], object]

    def __post_init__(self) -> None:
        if not self.url.startswith(("http://", "https://")):
            raise ValueError(f"url must begin with http:// or https://, got {self.url!r}.")
        self.url = self.url.rstrip("/")
        token = self.token
        self._headers = {} if token is None else {"Authorization": f"Bearer {token.strip()}"}
        self._opener = build_opener(_NoRedirects)

    def json(
        self,
        method: str,
        *path: str,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Send a request, with retries, and return the parsed JSON of the response.

        Parameters
        ----------
        method : str
            HTTP method.
        *path : str
            Segments of the URL path after /v1, not percent-encoded.
        body : Mapping[str, Any] | None
            JSON object to send; None for an empty body.
        headers : Mapping[str, str] | None
            Additional headers of the request, the same in each retry.

        Returns
        -------
        Any
            Parsed JSON of the response.
        """
        data = b"" if body is None else to_json(body)
        sent = {"Content-Type": "application/json"} if data else {}
        sent |= headers or {}
        return parse_json(self.retry(partial(self.send, method, path, data, sent))[0])

    def retry(self, send: Callable[[], T]) -> T:
        """Call `send()`, with retries after transient errors; return its result.

        Raise ServiceError if the error is not transient, if Retry-After exceeds
        `MAX_RETRY_AFTER_S`, or after the maximum number of retries.
        """
        for attempt in itertools.count():
            try:
                return send()
            except ServiceError as error:
                final = attempt >= self.retries or error.retry_after_s > MAX_RETRY_AFTER_S
                if final or not error.is_transient:
                    raise
                if attempt == 0:
                    LOG.warning("%s Retrying.", error)
                # Random jitter prevents many clients from retrying at the same time.
                backoff = min(FIRST_BACKOFF_S * 2**attempt, MAX_BACKOFF_S) * random.uniform(0.5, 1)
                self.sleep(max(error.retry_after_s, backoff))
        raise AssertionError

    def send(
        self, method: str, path: Iterable[str], data: bytes, headers: Mapping[str, str]
    ) -> tuple[bytes, str]:
        """Send one request, without retries.

        Parameters
        ----------
        method : str
            HTTP method.
        path : Iterable[str]
            Segments of the URL path after /v1, not percent-encoded.
        data : bytes
            Body of the request; sent only with POST.
        headers : Mapping[str, str]
            Headers of the request, without Authorization.

        Returns
        -------
        tuple[bytes, str]
            Body and ETag of the response. The body is empty if the status is 304.

        Raises
        ------
        ServiceError
            If the status is an error, or if the service cannot be reached.
        """
        address = "/".join([self.url, "v1", *(quote(part, safe="") for part in path)])
        body = data if method == "POST" else None
        request = Request(address, body, {**self._headers, **headers}, method=method)
        try:
            with self._opener.open(request, timeout=self.timeout) as response:
                return response.read(), response.headers.get("ETag", "")
        except HTTPError as error:
            with error:
                if error.code == 304:
                    return b"", error.headers.get("ETag", "")
                raise _service_error(error) from None
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, socket.timeout):
                raise ServiceError(
                    f"{self.url} did not answer within {self.timeout:g} s; for a longer limit, "
                    "use Client(url, timeout=...)."
                ) from None
            raise ServiceError(f"{self.url} cannot be reached: {reason}.") from None


class _NoRedirects(HTTPRedirectHandler):
    """Redirect handler that rejects all redirects, so that a token is never sent to another URL."""

    def redirect_request(self, *args: Any, **options: Any) -> None:
        return None


def _service_error(error: HTTPError) -> ServiceError:
    """Convert the error response `error` to a ServiceError.

    If the body of the response is not JSON, for example because a proxy sent it, the message
    contains only the status.
    """
    try:
        body = json.loads(error.read())
        message, field = str(body["message"]), body["field"]
    except (OSError, HTTPException, ValueError, TypeError, KeyError):
        message, field = f"The service answered {error.code} {error.reason}.", None
    header = error.headers.get("Retry-After", "")
    retry_after_s = float(header) if header.isascii() and header.isdecimal() else 0.0
    return ServiceError(message, error.code, field=field, retry_after_s=retry_after_s)


def to_json(body: Any) -> bytes:
    """Return `body` as JSON text in bytes. NumPy arrays and numbers are supported."""
    return json.dumps(body, default=_convert, allow_nan=False).encode()


def _convert(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"Values must be strings, numbers or lists of these, got {value!r}.")


def parse_json(raw: bytes) -> Any:
    """Return the value of the JSON text `raw`. Raise ServiceError if `raw` is not JSON."""
    try:
        return json.loads(raw)
    except ValueError:
        raise ServiceError("The response is not JSON; check the address of the service.") from None
