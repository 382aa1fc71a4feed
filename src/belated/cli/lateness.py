"""`belated lateness`: estimate the delays of episodes in a file, and test what they depend on."""

import csv
import json
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from belated.cli.support.errors import require_packages, usage_errors
from belated.cli.support.options import JsonOption, help_from_docstring

FORMATS: Final = (".csv", ".json", ".ndjson", ".jsonl", ".parquet")
"""Suffixes of the names of files that can be read."""


@help_from_docstring()
def lateness(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False)],
    by: list[str] | None = None,
    problem: str | None = None,
    episodes: Annotated[bool, typer.Option("--episodes")] = False,
    now: Annotated[str | None, typer.Option(metavar="TIME")] = None,
    as_json: JsonOption = False,
) -> None:
    """Estimate how late feedback is, and test whether early returns are representative.

    Episodes that are not back count as such (Kaplan-Meier), so that the estimate is not too low.
    The last line says what follows for learning from early returns.

    Example: belated lateness events.ndjson

    Parameters
    ----------
    file
        Events exported from a service, or a table of episodes with the columns opened, returned
        (empty if not back) and, if known, return: .csv, .json, .ndjson or .parquet.
    by
        Column of a table whose groups are compared; may be repeated. By default arm, action,
        first_action, state and first_state, where they exist.
    problem
        Problem, if the events are those of several.
    episodes
        Times in a table are numbers of episodes.
    now
        Time up to which returns are known, such as that of the export: an ISO 8601 time, or a
        number as in the table. By default the latest time in the file.
    """
    if file.suffix.lower() == ".parquet":
        require_packages("A Parquet file", "service", "duckdb")
    from belated.survival.lateness import lateness as measure

    with usage_errors("FILE"):
        rows = read_rows(file)
        if rows and {"seq", "kind"} <= rows[0].keys():
            from belated.online.delay_records import delay_records

            names = sorted({row["problem"] for row in rows if "problem" in row})
            if problem is not None or len(names) > 1:
                if problem not in names:
                    listed = ", ".join(names) or "none"
                    raise ValueError(
                        f"--problem must be one of the problems in the file, {listed}."
                    )
                rows = [row for row in rows if row["problem"] == problem]
            found = measure(delay_records(rows, now=now))
        else:
            found = measure(rows, groups=by, unit="episodes" if episodes else None, now=now)
    typer.echo(json.dumps(found.facts(), indent=2, allow_nan=False) if as_json else str(found))


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file, whose name tells its format.

    Parameters
    ----------
    path : Path
        File that ends in .csv, .json (a list of objects), .ndjson or .jsonl (one object on each
        line), or .parquet.

    Returns
    -------
    list of dict
        Rows, with texts as values in a CSV file.

    Raises
    ------
    ValueError
        If the format is unknown or the content is not in this format.
    """
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise ValueError(f"The name must end in {', '.join(FORMATS)}, got {path.name!r}.")
    if suffix == ".parquet":
        return _read_parquet(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
        if suffix == ".csv":
            return list(csv.DictReader(text.splitlines()))
        lines = [text] if suffix == ".json" else [line for line in text.splitlines() if line]
        rows = [json.loads(line) for line in lines]
    except (UnicodeDecodeError, json.JSONDecodeError, csv.Error) as error:
        raise ValueError(f"{path} is not a valid {suffix} file: {error}.") from None
    rows = rows[0] if suffix == ".json" else rows
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError(f"{path} must hold JSON objects, one for each row.")
    return rows


def _read_parquet(path: Path) -> list[dict[str, Any]]:
    import duckdb

    with duckdb.connect() as connection:
        try:
            found = connection.execute("SELECT * FROM read_parquet(?)", [str(path)])
        except duckdb.Error as error:
            reason = str(error).splitlines()[0].rstrip(".")
            raise ValueError(f"{path} is not a valid .parquet file: {reason}.") from None
        names = [column[0] for column in found.description or ()]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]
