"""`belated ledger`: verify, back up, restore, copy and export a ledger."""

from belated.cli.ledger.commands import ledger

__all__ = ["ledger"]
