"""Engines of the databases that can store a ledger."""
