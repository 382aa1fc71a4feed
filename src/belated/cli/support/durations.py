"""Durations in options, such as 90d."""

import re
from typing import Final

SECONDS: Final = {"m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
"""Map from each unit of a duration to its length in seconds."""


def parse_duration(text: str) -> int:
    """Return the duration `text` in seconds: a number and one of the units m, h, d and w.

    Raises ValueError if `text` has another form, or is longer than a hundred years.

    >>> parse_duration("90d")
    7776000
    """
    found = re.fullmatch(r"([1-9][0-9]{0,5})([mhdw])", text.strip())
    seconds = int(found[1]) * SECONDS[found[2]] if found else 0
    if not 0 < seconds <= 36_525 * 86_400:
        raise ValueError(
            f"A duration must be a number and m, h, d or w, such as 90d; got {text!r}."
        )
    return seconds
