"""Files with rows: CSV, JSON, lines of JSON and Parquet."""

import csv
import json
from pathlib import Path
from typing import Any, Final

FORMATS: Final = (".csv", ".json", ".ndjson", ".jsonl", ".parquet")


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
