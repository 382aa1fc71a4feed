"""Fixtures: an empty ledger on each kind of database."""

from databases import any_ledger, ledger, memory, postgres, postgres_url, sqlite_url, url

__all__ = ["any_ledger", "ledger", "memory", "postgres", "postgres_url", "sqlite_url", "url"]
