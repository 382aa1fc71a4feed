"""Tokens that authenticate clients: creation and verification.

A token has the form belated_ID_SECRET. The secret is shown only when the token is created. The
ledger stores the SHA-256 of the secret; a salt is not needed, because a secret has 256 random bits.
"""

import hmac
import secrets
from hashlib import sha256
from typing import Final, NamedTuple

from belated.ledger.clients import Token

SCOPES: Final = {
    "read": "read problems, policies and status",
    "decide": "open episodes and request actions",
    "feedback": "send feedback",
    "correct": "replace feedback",
    "withdraw": "withdraw the data of an episode or a subject",
    "export": "read the ledger and the quarantine",
    "metrics": "read the metrics",
    "admin": "all of the above; define problems; freeze, roll back and shadow mode; archive",
}
"""Map from the name of each scope to its description."""
PREFIX: Final = "belated"


class NewToken(NamedTuple):
    """New token, with its secret and the hash to store in the ledger."""

    id: str  # public part, as `belated token list` shows it
    text: str  # whole token, as a client sends it
    hash: bytes  # SHA-256 of the secret, as the ledger stores it


def create_token() -> NewToken:
    """Return a new random token. It becomes valid when its hash is stored in the ledger."""
    id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    return NewToken(id, f"{PREFIX}_{id}_{secret}", hash_secret(secret))


def hash_secret(secret: str) -> bytes:
    """Return the SHA-256 of `secret`."""
    return sha256(secret.encode()).digest()


def check_scopes(text: str) -> list[str]:
    """Return the names of the scopes in `text`, which are separated by commas.

    Raises ValueError if `text` is empty or a scope is unknown.

    >>> check_scopes("decide, feedback")
    ['decide', 'feedback']
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names or [""]:
        if name not in SCOPES:
            raise ValueError(f"scope must be one of {', '.join(SCOPES)}; got {name!r}.")
    return names


def find_token(tokens: dict[str, Token], text: str) -> Token | None:
    """Return the token that a client sent as `text`, or None if the token is not valid.

    `tokens` maps ids to tokens. A token is not valid if its id is unknown, its secret is wrong, or
    it has been revoked. The secret is also hashed and compared for an unknown id, so that the
    response time does not reveal which ids exist.
    """
    prefix, _, rest = text.partition("_")
    id, _, secret = rest.partition("_")
    token = tokens.get(id)
    expected = token.hash if token is not None else bytes(32)
    same = hmac.compare_digest(expected, hash_secret(secret))
    if token is None or not same or prefix != PREFIX or token.revoked is not None:
        return None
    return token
