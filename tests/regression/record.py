"""Record digests of what the package computes today, for `test_digests.py` to compare with.

    python tests/regression/record.py              record everything anew
    python tests/regression/record.py json texts   record these sections, and keep the others

A stored ledger is written only where there is none: it stands for those that users have.
"""

import sys
import time
from pathlib import Path
from typing import Any


def main(wanted: list[str]) -> None:
    """Compute and write the sections."""
    from regression import every_kind, ledgers, settings

    unknown = set(wanted) - {"runs", *settings.SECTIONS}
    if unknown:
        raise SystemExit(f"There is no section {', '.join(sorted(unknown))}.")
    for stored in (ledgers, every_kind):
        if not stored.FILE.exists():
            stored.write_file()
            print(f"Wrote {stored.FILE.name}, {stored.FILE.stat().st_size:,} bytes.")
    sections: dict[str, dict[str, Any]] = settings.read() if wanted else {}
    for section, functions in {"runs": settings.RUNS, **settings.SECTIONS}.items():
        if wanted and section not in wanted:
            continue
        began = time.monotonic()
        found = {name: settings.as_read(function()) for name, function in functions.items()}
        if section == "runs":
            found = {name: agreed(name, ways) for name, ways in found.items()}
        sections[section] = found
        print(f"{section}: {len(found)} settings in {time.monotonic() - began:.1f} s", flush=True)
    settings.write(sections)
    print(f"Wrote {settings.FILE.name}, {settings.FILE.stat().st_size:,} bytes.")


def agreed(name: str, ways: dict[str, Any]) -> Any:
    """Return the digest in which all ways to compute a run agree."""
    first, *others = ways.values()
    if any(other != first for other in others):
        raise SystemExit(f"{name} comes out differently: {ways}")
    return first


if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    main(sys.argv[1:])
