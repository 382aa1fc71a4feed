"""`make attack`: attack a running service in many ways, and write a table to docs/service.md.

    python benchmarks/attack.py [--only NAME,...] [--store sqlite|postgresql] [--list]

Each attack starts `belated serve` in a process of its own. The exit code is 1 if the service did
not hold against one of them. Only a complete run writes the page.
"""

import argparse
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from pathlib import Path

from attacks import (  # noqa: F401 - each module registers its attacks
    access,
    amplifiers,
    connections,
    crashes,
    damage,
    frozen,
    odd_requests,
    outages,
    scale,
    withdrawal,
)
from attacks.registry import ATTACKS, POSTGRESQL, SQLITE, Attack, Finding, SkipAttack
from attacks.testbed import PostgresOnDemand, make_testbed
from report import Report, Section, describe_machine, format_markdown, print_report, write_page

PAGE = Path(__file__).parent.parent / "docs" / "service.md"
STORES = {"sqlite": SQLITE, "postgresql": POSTGRESQL}
HELD, BROKEN, SKIPPED = "held", "**broken**", "skipped"
COLUMNS = ("attack", "store", "tried", "limit", "measured", "result")


@dataclass(frozen=True)
class Row:
    """Row of the table."""

    attack: str
    store: str
    tried: str
    expected: str
    measured: str
    result: str


def main() -> None:
    """Carry out the selected attacks; write the page if all are selected and none was skipped."""
    options = parse_arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that services and PostgreSQL end
    heading = describe_machine()
    start = time.perf_counter()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="belated-attack-") as folder:
        postgres = PostgresOnDemand(Path(folder) / "postgres")
        try:
            for attack in options.attacks:
                for store in attack.stores:
                    if store in options.stores:
                        rows += carry_out(attack, store, Path(folder), postgres)
        finally:
            postgres.close()
    minutes = (time.perf_counter() - start) / 60
    report = make_report(rows, minutes)
    print_report(report, heading)
    if options.complete:
        write_page(PAGE, format_markdown(report, heading), mark="attacks")
    else:
        print(f"{PAGE.name} is not changed: only a complete run writes it.", file=sys.stderr)
    sys.exit(any(row.result == BROKEN for row in rows))


def parse_arguments() -> argparse.Namespace:
    """Return the checked arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="names of attacks, separated by commas; see --list")
    parser.add_argument("--store", choices=list(STORES), help="only this store")
    parser.add_argument("--list", action="store_true", help="print the names of all attacks")
    options = parser.parse_args()
    if options.list:
        for attack in ATTACKS.values():
            print(f"{attack.name:24}  {attack.title} ({', '.join(attack.stores)})")
        parser.exit()
    names = options.only.split(",") if options.only else list(ATTACKS)
    if unknown := [name for name in names if name not in ATTACKS]:
        parser.error(f"--only must be names of --list, got {unknown[0]!r}.")
    options.attacks = [ATTACKS[name] for name in names]
    options.stores = [STORES[options.store]] if options.store else list(STORES.values())
    options.complete = options.only is None and options.store is None
    return options


def carry_out(
    attack: Attack, store: str, folder: Path, postgres: PostgresOnDemand
) -> Iterator[Row]:
    """Carry out an attack on a kind of store and yield its rows.

    Parameters
    ----------
    attack : Attack
        The attack.
    store : str
        Kind of the store.
    folder : Path
        Folder for its files.
    postgres : PostgresOnDemand
        PostgreSQL server.

    Yields
    ------
    Row
        One row for each finding; one row if the attack is skipped or fails.
    """
    print(f"{attack.title}, {store} ...", end=" ", file=sys.stderr, flush=True)
    start = time.perf_counter()
    result = HELD
    try:
        with make_testbed(store, folder, postgres) as testbed:
            for finding in attack.run(testbed):
                row = make_row(attack, store, finding)
                if row.result == BROKEN:
                    result = BROKEN
                    print(f"\n{row.tried}: {row.measured}", file=sys.stderr)
                yield row
    except SkipAttack as reason:
        result = SKIPPED
        yield Row(attack.title, store, "", "", str(reason), result)
    except Exception as error:
        traceback.print_exc()
        result = BROKEN
        yield Row(attack.title, store, "", "", f"{type(error).__name__}: {error}"[:200], result)
    print(f"{result}, {time.perf_counter() - start:.0f} s", file=sys.stderr)


def make_row(attack: Attack, store: str, finding: Finding) -> Row:
    """Return the row of a finding of `attack` on the kind of `store`."""
    result = HELD if finding.held else BROKEN
    return Row(attack.title, store, finding.tried, finding.expected, finding.measured, result)


def make_report(rows: list[Row], minutes: float) -> Report:
    """Return a report with one table of all `rows`, carried out in `minutes`."""
    held, broken = (sum(row.result == result for row in rows) for result in (HELD, BROKEN))
    note = f"{held} held, {broken} broken, in {minutes:.1f} minutes."
    cells = [[cell.replace("|", "/") for cell in astuple(row)] for row in rows]
    return Report([Section("Attacks", COLUMNS, cells, note)])


if __name__ == "__main__":
    main()
