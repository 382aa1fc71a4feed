"""Atomic replacement of files."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def write_atomically(path: Path, data: bytes) -> None:
    """Write `data` to `path` atomically: after a crash, the file has its old or its new content."""
    with replace_atomically(path) as part:
        part.write_bytes(data)


@contextmanager
def replace_atomically(path: Path) -> Iterator[Path]:
    """Yield a temporary path. The file that the caller writes to this path replaces `path`.

    If the block succeeds, the temporary file is synced to disk and renamed to `path`. Otherwise it
    is deleted, and `path` is unchanged.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
