"""Studies that are part of the package, found by name."""

import os
from pathlib import Path
from typing import Final

from belated.check import did_you_mean, similar

FOLDER: Final = Path(__file__).parents[1] / "studies"
"""Folder of the packaged study files."""


def study_names() -> list[str]:
    """Return the names of the packaged studies, sorted.

    >>> study_names()[:5]
    ['algorithms', 'alpha', 'bases-under-delay', 'calibrated-with-delay', 'delay-scaling']
    """
    return sorted(file.stem for file in FOLDER.glob("*.toml"))


def find_study(study: Path | str) -> Path:
    """Return the path of the file of `study`.

    `study` is the path of a file or, if there is no such file, the name of a packaged study, given
    as NAME, NAME.toml or studies/NAME.toml. Raise ValueError if it is neither; the message lists
    the names of the packaged studies.
    """
    file = Path(study)
    if os.path.isfile(file):
        return file
    names = study_names()
    for name in names:
        if file in (Path(name), Path(f"{name}.toml"), Path("studies", f"{name}.toml")):
            return FOLDER / f"{name}.toml"
    if os.path.lexists(file):
        return file  # a folder, for example
    near = did_you_mean(similar(file.stem, names))
    raise ValueError(
        f"{file} cannot be read: No such file or directory.{near} "
        f"The packaged studies are {', '.join(names)}."
    )
