"""Output of commands: tables, printed at full width, new files and paths of figures."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from belated.cli.support.errors import require_packages, usage_errors

if TYPE_CHECKING:
    from rich.table import Table

MAX_TABLE_CHARS = 10_000
"""Width, in characters, of the imaginary console on which the width of a table is measured. It is
larger than the width of any table, so that no cell is wrapped."""


def build_table(texts: Sequence[str], numbers: Sequence[str] = ()) -> "Table":
    """Return a table without rows.

    `texts` are the headings of the left-aligned columns, and `numbers` the headings of the
    right-aligned columns that follow.
    """
    from rich import box
    from rich.table import Table

    table = Table(*texts, box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for title in numbers:
        table.add_column(title, justify="right")
    return table


def print_table(table: "Table") -> None:
    """Print `table` at its full width, even if the terminal is narrower."""
    from rich.console import Console

    Console(width=full_width(table)).print(table)


def print_fitting(tables: "Sequence[Table]") -> None:
    """Print the first of `tables` that fits the width of the terminal, or the last if none does.

    If the output is not a terminal and the environment variable COLUMNS is not set, the first table
    is printed.
    """
    from rich.console import Console

    console = Console()
    unlimited = not console.is_terminal and "COLUMNS" not in os.environ
    fitting = (table for table in tables if unlimited or full_width(table) <= console.width)
    print_table(next(fitting, tables[-1]))


def full_width(table: "Table") -> int:
    """Return the width of `table` in characters if no cell is wrapped."""
    from rich.console import Console
    from rich.measure import Measurement

    wide = Console(width=MAX_TABLE_CHARS)
    return Measurement.get(wide, wide.options, table).maximum


@contextmanager
def new_file(path: Path, *, companions: Sequence[str] = ()) -> Iterator[Path]:
    """Yield a temporary path, to which the caller writes the content of a new file.

    If the block succeeds, the file is moved to `path`. Otherwise it is deleted. Only the owner can
    read the new file. An existing file is never overwritten.

    Parameters
    ----------
    path : Path
        New file in an existing folder.
    companions : sequence of str
        Suffixes of files that belong to `path`, such as "-wal". These files must not exist either.

    Yields
    ------
    Path
        Temporary path to write to.

    Raises
    ------
    ValueError
        If `path` or one of its companions exists, or if the folder of `path` does not exist.
    """
    for suffix in ("", *companions):
        _check_absent(path.with_name(path.name + suffix))
    if not path.parent.is_dir():
        raise ValueError(f"{path} cannot be created: there is no folder {path.parent}.")
    folder = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        part = folder / "part"
        yield part
        part.chmod(0o600)
        _sync(part)
        _check_absent(path)
        # Fails if another process has created the file since the check.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
        os.replace(part, path)
        _sync(path.parent)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def prepare_figure_path(option: str, path: Path) -> Path:
    """Return the `path` of a figure without its suffix, and create its folder.

    The suffix is removed because a figure is written both as PDF and as PNG. If the path cannot be
    used, exit with a usage error. Its message contains `option`, the name of the option without
    the leading hyphens. Exit with a message if Matplotlib is not installed.
    """
    require_packages(f"--{option}", "figures", "matplotlib")
    with usage_errors(f"--{option}"):
        if path.suffix not in ("", ".pdf", ".png"):
            raise ValueError(
                f"{option} must end in .pdf, .png or have no suffix, got {str(path)!r}."
            )
        path.parent.mkdir(parents=True, exist_ok=True)
    return path.with_suffix("")


def _check_absent(path: Path) -> None:
    if os.path.lexists(path):
        raise ValueError(f"{path} already exists; choose a new file.")


def _sync(path: Path) -> None:
    """Sync the file `path`, or the entries of the folder `path`, to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
