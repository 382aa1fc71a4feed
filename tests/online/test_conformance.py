"""The suite that holds any ledger to its rules, on every database."""

from pathlib import Path

import pytest

from belated.checks.ledger import CHECKS
from belated.online import Ledger


@pytest.mark.parametrize("name", CHECKS)
def test_a_ledger_in_a_file_keeps_the_rules(name: str, tmp_path: Path) -> None:
    CHECKS[name](lambda name: Ledger.open(f"sqlite:///{tmp_path / name}.db"))


@pytest.mark.parametrize("name", [name for name in CHECKS if name not in ("kept", "race", "tail")])
def test_a_ledger_in_memory_keeps_the_rules(name: str) -> None:
    CHECKS[name](lambda name: Ledger.open("sqlite://"))


@pytest.mark.parametrize("name", CHECKS)
def test_a_ledger_on_postgres_keeps_the_rules(name: str, postgres_url: str) -> None:
    CHECKS[name](lambda name: Ledger.open(postgres_url))
