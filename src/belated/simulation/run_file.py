"""Checkpoint files: arrays with a digest, and a description of the run to which they belong.

A file consists of a line with the format, a line with the SHA-256 of the rest, and an npz archive.
The digest is verified before the archive is opened, and the archive is read without pickle.
"""

import io
import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import numpy as np

from belated.array_checks import Arrays
from belated.files import write_atomically

FIRST_LINE: Final = b"belated run 1\n"
"""First line of a checkpoint file: kind and version number of the format."""

IDENTITY: Final = "identity"
"""Name of the array that holds the description of the run, as JSON in UTF-8."""

MAX_SHOWN_CHARACTERS: Final = 100
"""Largest total length of two different values that an error message shows."""


class DamagedFileError(ValueError):
    """Error raised if the content of a checkpoint file cannot be that of a saved run.

    Parameters
    ----------
    path : Path
        The file.
    reason : str
        Reason why the content is invalid, for the error message.
    """

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"The checkpoint file {path} is damaged: {reason}. Delete it to start the run again."
        )


def write_run(path: Path, identity: Mapping[str, str], arrays: Arrays) -> None:
    """Write a checkpoint file atomically.

    Parameters
    ----------
    path : Path
        File to write or replace.
    identity : mapping of str to str
        Description of the run; see `belated.simulation.resume.describe_run`.
    arrays : dict of str to NDArray
        State of the run, as a map from names to arrays. The names must be valid names of files.
    """
    text = json.dumps(dict(identity)).encode()
    content = io.BytesIO()
    entries: dict[str, Any] = {IDENTITY: np.frombuffer(text, np.uint8), **arrays}
    np.savez(content, **entries)
    data = content.getvalue()
    write_atomically(path, FIRST_LINE + sha256(data).hexdigest().encode() + b"\n" + data)


def read_run(path: Path, identity: Mapping[str, str]) -> Arrays | None:
    """Return the arrays of a checkpoint file, or None if there is no file.

    Parameters
    ----------
    path : Path
        File to read.
    identity : mapping of str to str
        Description of the run that is to be continued, with which the description in the file is
        compared; see `belated.simulation.resume.describe_run`.

    Returns
    -------
    dict of str to NDArray, or None
        State of the run, whose digest has been verified.

    Raises
    ------
    DamagedFileError
        If the file is incomplete or has been changed.
    ValueError
        If the file is not a checkpoint file or belongs to another run.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    if not data.startswith(FIRST_LINE):
        raise ValueError(
            f"{path} is not a checkpoint file of this version of belated; choose another file."
        )
    digest, _, data = data[len(FIRST_LINE) :].partition(b"\n")
    if sha256(data).hexdigest().encode() != digest:
        raise DamagedFileError(path, "digest mismatch")
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        saved = json.loads(arrays.pop(IDENTITY).tobytes())
    except Exception as error:
        raise DamagedFileError(path, f"unreadable archive ({error})") from error
    for name, expected in identity.items():
        if saved.get(name) != expected:
            raise ValueError(
                f"The checkpoint file {path} belongs to another run: "
                f"{describe_difference(name, saved.get(name), expected)}. Choose another file, or "
                "delete it to start again."
            )
    return arrays


def describe_difference(name: str, saved: object, expected: str) -> str:
    """Return text that says how a saved run and the run to be continued differ in one part.

    Parameters
    ----------
    name : str
        Name of the part, such as "seed".
    saved : object
        Value of the part in the file.
    expected : str
        Value of the part in the run that is to be continued.

    Returns
    -------
    str
        Text with both values; without them if they have more than MAX_SHOWN_CHARACTERS characters
        in total.
    """
    if len(f"{saved}{expected}") > MAX_SHOWN_CHARACTERS:
        return f"the {name} is different"
    return f"the {name} is {saved} in the file and {expected} in this run"
