"""Tokens that authenticate clients. Only a hash of the secret of a token is stored."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import sqlalchemy as sa

from belated.check import check_name, is_name
from belated.ledger import schema
from belated.ledger.store import Store


@dataclass(frozen=True)
class Token:
    """Token as stored in the ledger, without its secret."""

    id: str
    """Unique name of the token."""
    hash: bytes = field(repr=False)
    """Hash of the secret."""
    scopes: tuple[str, ...]
    """Permissions of the token, sorted by name."""
    problem: int | None
    """Id of the only problem that the token gives access to; None for all problems."""
    created: int
    """Time of creation, in microseconds since 1970 (UTC)."""
    revoked: int | None = None
    """Time of revocation, in microseconds since 1970 (UTC); None if the token is not revoked."""
    expires: int | None = None
    """Time from which the token is invalid, in microseconds since 1970 (UTC); None for never."""
    used: int | None = None
    """Approximate time of the last use, in microseconds since 1970 (UTC); it may be about a minute
    too early. None if the token has not been used."""

    def is_valid(self, now: int) -> bool:
        """Return whether the token is neither revoked nor expired at the time `now`.

        `now` is in microseconds since 1970 (UTC).
        """
        return self.revoked is None and (self.expires is None or now < self.expires)


class Tokens:
    """Access to the tokens of the ledger whose database is `store`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(
        self,
        id: str,
        hash: bytes,
        *,
        scopes: Iterable[str],
        problem: int | None = None,
        lifetime_s: int | None = None,
    ) -> Token:
        """Store a new token.

        Parameters
        ----------
        id : str
            Unique name of the token.
        hash : bytes
            Hash of the secret.
        scopes : iterable of str
            Names of permissions, at least one.
        problem : int, optional
            Id of the only problem that the token gives access to; None for all problems.
        lifetime_s : int, optional
            Seconds until the token expires; None for never.

        Returns
        -------
        Token
            The stored token.

        Raises
        ------
        ValueError
            If the id is taken or malformed, the problem does not exist, or there are no scopes.
        """
        if not isinstance(hash, bytes) or not hash:
            raise TypeError("hash must be bytes.")
        names = tuple(sorted({check_name("scope", scope) for scope in scopes}))
        if not names:
            raise ValueError("scopes is empty; a token needs at least one scope.")
        now = self._store.now()
        expires = None if lifetime_s is None else now + lifetime_s * 1_000_000
        token = Token(check_name("id", id), hash, names, problem, now, expires=expires)
        row = {**vars(token), "scopes": ",".join(names)}
        try:
            with self._store.writing() as connection:
                connection.execute(sa.insert(schema.tokens).values(**row))
        except sa.exc.IntegrityError:
            raise ValueError(
                f"Token {id!r} cannot be stored: its id is taken, or there is no problem {problem}."
            ) from None
        return token

    def get(self, id: str) -> Token | None:
        """Return the token `id`, even if revoked or expired; None if there is no such token."""
        found = self._read(schema.tokens.c.id == id) if is_name(id) else []
        return found[0] if found else None

    def all(self) -> list[Token]:
        """Return all tokens, including revoked and expired ones, oldest first."""
        return self._read(sa.true())

    def revoke(self, id: str) -> bool:
        """Revoke the token `id`.

        Returns False if there is no such token or it was revoked before, else True.
        """
        if not is_name(id):
            return False
        tokens = schema.tokens
        valid = (tokens.c.id == id, tokens.c.revoked.is_(None))
        with self._store.writing() as connection:
            result = connection.execute(
                sa.update(tokens).where(*valid).values(revoked=self._store.now())
            )
        return result.rowcount == 1

    def expire(self, id: str, *, after_s: int) -> Token | None:
        """Make the valid token `id` expire in `after_s` seconds, unless it expires earlier.

        Returns the token with its time of expiry; None if there is no valid token `id`.
        """
        now, tokens = self._store.now(), schema.tokens
        token = self.get(id)
        if token is None or not token.is_valid(now):
            return None
        expires = now + after_s * 1_000_000
        if token.expires is None or expires < token.expires:
            token = replace(token, expires=expires)
            with self._store.writing() as connection:
                connection.execute(
                    sa.update(tokens).where(tokens.c.id == id).values(expires=expires)
                )
        return token

    def touch(self, id: str, used: int) -> None:
        """Store that the token `id` was used at the time `used`, unless a later use is stored.

        `used` is in microseconds since 1970 (UTC).
        """
        tokens = schema.tokens
        earlier = sa.or_(tokens.c.used.is_(None), tokens.c.used < used)
        with self._store.writing() as connection:
            connection.execute(
                sa.update(tokens).where(tokens.c.id == id, earlier).values(used=used)
            )

    def _read(self, condition: sa.ColumnElement[bool]) -> list[Token]:
        tokens = schema.tokens
        with self._store.reading() as connection:
            rows = connection.execute(
                sa.select(tokens).where(condition).order_by(tokens.c.created, tokens.c.id)
            ).all()
        return [
            Token(
                **{**row._mapping, "hash": bytes(row.hash), "scopes": tuple(row.scopes.split(","))}
            )
            for row in rows
        ]
