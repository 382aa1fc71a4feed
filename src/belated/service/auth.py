"""Tokens: what a caller shows, and what that is good for.

A token reads belated_ID_SECRET. The secret is shown once, and only its hash is kept: it has 256
random bits, so that a plain SHA-256 cannot be turned back.
"""

import asyncio
import hmac
import ipaddress
import secrets
import time
from collections.abc import Awaitable, Callable
from functools import lru_cache
from hashlib import sha256
from typing import Final, NamedTuple

from belated.ledger.tokens import Token

SCOPES: Final = {
    "read": "see problems, policies and where they stand",
    "decide": "open episodes and ask for actions",
    "feedback": "send what came back",
    "correct": "replace what came back",
    "withdraw": "have the data of an episode or a subject forgotten",
    "export": "read the ledger",
    "metrics": "read the metrics",
    "admin": "all of this, define problems, freeze and roll back",
}
PREFIX: Final = "belated"


class Minted(NamedTuple):
    """A new token; `text` is what the caller shows."""

    id: str
    text: str
    hash: bytes


def mint() -> Minted:
    """Draw a token."""
    id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    return Minted(id, f"{PREFIX}_{id}_{secret}", hash_of(secret))


def hash_of(secret: str) -> bytes:
    """What is kept of a secret."""
    return sha256(secret.encode()).digest()


def check_scopes(text: str) -> list[str]:
    """Scopes from a list with commas.

    >>> check_scopes("decide, feedback")
    ['decide', 'feedback']
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in SCOPES:
            raise ValueError(f"scope is {name!r}; allowed are {', '.join(SCOPES)}.")
    if not names:
        raise ValueError(f"scope is empty; allowed are {', '.join(SCOPES)}.")
    return names


def find(tokens: dict[str, Token], text: str) -> Token | None:
    """The token that a caller shows, if it is good; takes as long for one that is not."""
    prefix, _, rest = text.partition("_")
    id, _, secret = rest.partition("_")
    token = tokens.get(id)
    known = token.hash if token is not None else bytes(32)
    same = hmac.compare_digest(known, hash_of(secret))
    if token is None or not same or prefix != PREFIX or token.revoked is not None:
        return None
    return token


def allows(token: Token, scope: str) -> bool:
    """Whether a token is good for a scope."""
    return scope in token.scopes or "admin" in token.scopes


@lru_cache(maxsize=64)
def is_loopback(host: str) -> bool:
    """Whether an address is this machine's alone.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Keyring:
    """The tokens of a ledger, read anew when they are older than `patience` seconds."""

    def __init__(
        self,
        read: Callable[[], Awaitable[list[Token]]],
        *,
        patience: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read = read
        self._patience = patience
        self._clock = clock
        self._tokens: dict[str, Token] | None = None
        self._asked = 0.0
        self._reading: asyncio.Task[dict[str, Token]] | None = None

    async def tokens(self) -> dict[str, Token]:
        """Every token by its id, revoked or not."""
        now = self._clock()
        if self._reading is not None:
            if self._tokens is not None:
                return self._tokens  # who comes meanwhile makes do with what is known
        elif self._tokens is None or now - self._asked >= self._patience:
            self._asked = now
            self._reading = asyncio.create_task(self._renew())
        else:
            return self._tokens
        return await asyncio.shield(self._reading)  # which another request may wait for as well

    async def _renew(self) -> dict[str, Token]:
        try:
            self._tokens = {token.id: token for token in await self._read()}
            return self._tokens
        finally:
            self._reading = None
