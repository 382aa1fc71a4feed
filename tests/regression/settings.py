"""Everything that is recorded, by section and by setting."""

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from regression import cells, commands, every_kind, formulas, learners, ledgers, runs

FILE = Path(__file__).with_name("digests.json")

SECTIONS: dict[str, Mapping[str, Callable[[], Any]]] = {
    "plans": learners.PLANS,
    "learners": learners.LEARNERS,
    "theory": formulas.THEORY,
    "delays": formulas.DELAYS,
    "worlds": formulas.EXACT,
    "many": formulas.MANY,
    "json": commands.JSON,
    "texts": commands.TEXTS,
    "files": commands.FILES,
    "cells": cells.CELLS,
    "ledgers": ledgers.FRESH,
    "stored ledger": ledgers.KEPT,
    "events": every_kind.FRESH,
    "stored events": every_kind.KEPT,
}
"""Sections in which a setting is computed in one way; `RUNS` are computed in several."""

RUNS: dict[str, Callable[[], dict[str, Any]]] = {
    name: partial(runs.compute, name) for name in runs.SETTINGS
}


def read() -> dict[str, dict[str, Any]]:
    """Return what was recorded, by section and setting."""
    found: dict[str, dict[str, Any]] = json.loads(FILE.read_text())
    return found


def as_read(value: Any) -> Any:
    """Return a value as it comes back from a file."""
    return json.loads(json.dumps(value))


def write(sections: Mapping[str, Mapping[str, Any]]) -> None:
    """Write everything, one setting on each line."""
    blocks = []
    for section, values in sections.items():
        lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in values.items()]
        blocks.append(f"{json.dumps(section)}: {{\n" + ",\n".join(lines) + "\n}")
    FILE.write_text("{\n" + ",\n".join(blocks) + "\n}\n")
