"""Tokens: who may do what, by the hash of a secret that is kept nowhere."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import sqlalchemy as sa

from belated.ledger import schema
from belated.ledger.store import Store
from belated.ledger.validation import check_name, is_name


@dataclass(frozen=True)
class Token:
    """A token, but for its secret."""

    id: str
    hash: bytes = field(repr=False)
    scopes: tuple[str, ...]
    problem: int | None
    """The only problem it is good for, if it is not for all."""
    created: int
    revoked: int | None = None


class Tokens:
    """The tokens of a ledger."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(
        self, id: str, hash: bytes, *, scopes: Iterable[str], problem: int | None = None
    ) -> Token:
        """Keep a token under an id that no other has."""
        if not isinstance(hash, bytes) or not hash:
            raise TypeError("hash must be bytes.")
        names = tuple(sorted({check_name("scope", scope) for scope in scopes}))
        if not names:
            raise ValueError("scopes is empty; a token must be good for something.")
        token = Token(check_name("id", id), hash, names, problem, self._store.now())
        row = {**vars(token), "scopes": ",".join(names)}
        try:
            with self._store.writing() as connection:
                connection.execute(sa.insert(schema.tokens).values(**row))
        except sa.exc.IntegrityError:
            raise ValueError(
                f"Token {id!r} cannot be kept: its id is taken, or there is no problem {problem}."
            ) from None
        return token

    def get(self, id: str) -> Token | None:
        """The token of this id, revoked or not."""
        found = self._read(schema.tokens.c.id == id) if is_name(id) else []
        return found[0] if found else None

    def all(self) -> list[Token]:
        """Every token, oldest first, revoked or not."""
        return self._read(sa.true())

    def revoke(self, id: str) -> bool:
        """Make a token good for nothing; returns whether it was good for something."""
        of = schema.tokens
        if not is_name(id):
            return False
        with self._store.writing() as connection:
            done = connection.execute(
                sa.update(of)
                .where(of.c.id == id, of.c.revoked.is_(None))
                .values(revoked=self._store.now())
            )
        return done.rowcount == 1

    def _read(self, condition: sa.ColumnElement[bool]) -> list[Token]:
        of = schema.tokens
        with self._store.reading() as connection:
            rows = connection.execute(
                sa.select(of).where(condition).order_by(of.c.created, of.c.id)
            ).all()
        return [
            Token(r.id, bytes(r.hash), tuple(r.scopes.split(",")), r.problem, r.created, r.revoked)
            for r in rows
        ]
