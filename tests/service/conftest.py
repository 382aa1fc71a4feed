"""Fixtures: a ledger, and a service on it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from belated.ledger import Ledger
from service.site import Site


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Empty ledger in a file."""
    with Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}") as opened:
        yield opened


@pytest.fixture
def site(ledger: Ledger) -> Iterator[Site]:
    """Service without tokens; tests step its host."""
    with Site(ledger) as running:
        yield running
