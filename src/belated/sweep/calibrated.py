"""Scales of the bases of a study, read from a file of `belated calibrate --table`."""

import os
from typing import Any

from belated.learner.bases import BASE_NAMES
from belated.learner.bases.base import Base
from belated.simulation.calibration_table import CalibratedScale, read_table
from belated.sweep.cell import Options, normalize_delay


class CalibratedScales:
    """Scale of each base in each world with each delay, from a file of `belated calibrate --table`.

    Parameters
    ----------
    path : str or PathLike
        The file.

    Raises
    ------
    ValueError
        If the file cannot be read, or has two scales for a base in a world with a delay.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path
        self._rows: dict[tuple[str, Any, str], CalibratedScale] = {}
        try:
            rows = read_table(path)
        except OSError as error:
            raise ValueError(f"{path} cannot be read: {error.strerror}.") from None
        for row in rows:
            key = row.world, BASE_NAMES.parse(row.base), normalize_delay(row.delay)
            if key in self._rows:
                raise ValueError(
                    f"{path} has two scales for {row.base} in {row.world} with {row.delay}; keep "
                    "those of one calibration."
                )
            self._rows[key] = row
        self._bases = {base for _, base, _ in self._rows}

    def options(self, world: str, name: str, options: Options, delay: str) -> Options:
        """Return the options of a base, with its scale from the file added.

        The options are returned unchanged if they contain a scale, or if the file has no scale for
        the base in any world.

        Parameters
        ----------
        world : str
            Name of the world.
        name, options : str, tuple
            Name of the base, and its options.
        delay : str
            Name of the delay law.

        Returns
        -------
        tuple
            Names and values of the options, sorted by name.

        Raises
        ------
        ValueError
            If the file has scales for the base, but none for this world and delay.
        """
        base = BASE_NAMES.parse(name, dict(options))
        if not isinstance(base, Base) or "scale" in dict(options) or base not in self._bases:
            return options
        row = self._rows.get((world, base, normalize_delay(delay)))
        if row is None or row.scale is None:
            raise ValueError(f"{self._path} has no scale for {name} in {world} with {delay}.")
        return tuple(sorted((*options, ("scale", row.scale))))
