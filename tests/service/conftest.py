"""A service on an empty ledger."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from belated.ledger import Ledger
from service.site import Site


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """An empty ledger in a file."""
    with Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}") as opened:
        yield opened


@pytest.fixture
def site(ledger: Ledger) -> Iterator[Site]:
    """An open service; the tests step its host."""
    with Site(ledger) as running:
        yield running
