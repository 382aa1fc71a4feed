"""A study that runs in a second, and the bytes it leaves."""

import hashlib
from pathlib import Path

from belated.sweep.study import Study

STUDY = Study(
    name="small",
    episodes=300,
    seeds=7,
    worlds=["chain-3", "chain-4"],
    bases=["ucrl2"],
    updaters=["active", "lazy:2"],
    delays=["constant:0", "geometric:5"],
)


def bytes_of(folder: Path) -> dict[str, str]:
    """The checksum of every file of numbers; a killed process may leave temporary files."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for table in ("runs", "curves")
        for path in sorted((folder / table).rglob("*"))
        if path.is_file() and path.suffix != ".part"
    }
