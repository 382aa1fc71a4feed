"""Output of commands: tables, printed at full width, new files and paths of figures."""

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from belated.cli.support.errors import require_packages, usage_errors

MAX_TABLE_CHARS = 10_000
"""Width, in characters, of the imaginary console on which the width of a table is measured. It is
larger than the width of any table, so that no cell is wrapped."""


def print_table(
    headings: Sequence[str],
    rows: Iterable[Sequence[str] | None],
    *,
    numbers: range = range(0),
    optional: int = 0,
) -> None:
    """Print a table, at its full width even if the terminal is narrower.

    Parameters
    ----------
    headings : sequence of str
        Headings of the columns.
    rows : iterable of sequence of str
        Cells of each row; None for a blank line.
    numbers : range
        Indices of the columns that are aligned to the right.
    optional : int
        Number of last columns, all of which may be omitted if the terminal is too narrow. They are
        printed if the output is not a terminal and the environment variable COLUMNS is not set.
    """
    from rich import box
    from rich.console import Console
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    rows = list(rows)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for i, heading in enumerate(headings):
        table.add_column(heading, justify="right" if i in numbers else "left")
    for row in rows:
        if row is None:
            table.add_section()
        else:
            table.add_row(*map(Text, row))  # Text: brackets are not markup
    wide, console = Console(width=MAX_TABLE_CHARS), Console()
    width = Measurement.get(wide, wide.options, table).maximum
    if optional and width > console.width and (console.is_terminal or "COLUMNS" in os.environ):
        shorter = [row and row[:-1] for row in rows]
        print_table(headings[:-1], shorter, numbers=numbers, optional=optional - 1)
    else:
        Console(width=width).print(table)


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
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
        part = Path(folder, "part")
        yield part
        part.chmod(0o600)
        _sync(part)
        _check_absent(path)
        # Fails if another process has created the file since the check.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
        os.replace(part, path)
        _sync(path.parent)


def prepare_figure_path(option: str, path: Path) -> Path:
    """Return the `path` of a figure without its suffix, and create its folder.

    The suffix is removed because a figure is written both as PDF and as PNG. Exit with a message if
    Matplotlib is not installed. `option` is as in `prepare_folder`.
    """
    require_packages(f"--{option}", "figures", "matplotlib")
    prepare_folder(option, path, ".pdf, .png or have no suffix", ("", ".pdf", ".png"))
    return path.with_suffix("")


def prepare_folder(option: str, path: Path, expected: str, suffixes: Sequence[str]) -> None:
    """Create the folder of the file `path`. Exit with a usage error if the path cannot be used.

    Parameters
    ----------
    option : str
        Name of the option with the path, without the leading hyphens.
    path : Path
        File that will be written.
    expected : str
        Description of the allowed suffixes, for the message.
    suffixes : sequence of str
        Allowed suffixes of the file.
    """
    with usage_errors(f"--{option}"):
        if path.suffix not in suffixes:
            raise ValueError(f"{option} must end in {expected}, got {str(path)!r}.")
        path.parent.mkdir(parents=True, exist_ok=True)


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
