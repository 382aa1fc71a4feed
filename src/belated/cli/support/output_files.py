"""Fresh files: new, whole or not there at all, and for their owner alone."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def fresh(path: Path, *, beside: Sequence[str] = ()) -> Iterator[Path]:
    """Where to write a file that becomes `path` once all within has gone well.

    It takes the place of nothing: neither `path` nor, with the endings `beside`, a file that
    belongs to it may be there.
    """
    for ending in ("", *beside):
        check_absent(path.with_name(path.name + ending))
    if not path.parent.is_dir():
        raise ValueError(f"{path} would be in {path.parent}, and there is no such folder.")
    folder = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        part = folder / "part"
        yield part
        part.chmod(0o600)
        settle(part)
        check_absent(path)
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))  # or another was quicker
        os.replace(part, path)
        settle(path.parent)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def check_absent(path: Path) -> None:
    """Refuse to overwrite a file."""
    if os.path.lexists(path):
        raise ValueError(f"{path} is there already; it must be a new file.")


def settle(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
