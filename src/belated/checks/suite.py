"""Class `Check` and functions that all conformance suites share."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any


@dataclass(frozen=True)
class Check:
    """Check of one property of a base, updater, delay law or world.

    Calling the object runs the check.
    """

    name: str
    """Name of the check, as used in the argument `without` of the conformance suites."""
    about: str
    """Description of the checked property in one sentence."""
    _run: Callable[[], None] = field(repr=False, compare=False)

    def __call__(self) -> None:
        """Run the check; raise AssertionError with a one-line message if it fails."""
        try:
            self._run()
        except AssertionError as error:
            error.args = (f"{error} To skip this check, pass without=['{self.name}'].",)
            raise

    def __str__(self) -> str:
        return self.name


def by_name(*checks: Callable[..., None]) -> dict[str, Callable[..., None]]:
    """Return a dict that maps the name of each of the functions `checks` to the function."""
    return {check.__name__: check for check in checks}


def select_checks(
    available: Mapping[str, Callable[..., None]], without: Collection[str], *calls: tuple[Any, ...]
) -> list[Check]:
    """Return the checks of a suite, except the skipped ones.

    Parameters
    ----------
    available : mapping of str to callable
        Map from the name of each check of the suite to its function.
    without : collection of str
        Names of checks to skip.
    *calls : tuple
        Arguments of the function of each check, for each of its calls.

    Returns
    -------
    list of Check
        The remaining checks, in the order of `available`.

    Raises
    ------
    TypeError
        If `without` is a single string.
    ValueError
        If `without` contains an unknown name.
    """
    if isinstance(without, str):
        raise TypeError(f"without must be a list of names of checks, got {without!r}.")
    unknown = [name for name in without if name not in available]
    if unknown:
        raise ValueError(f"without must contain only {', '.join(available)}, got {unknown[0]!r}.")

    def run(check: Callable[..., None]) -> None:
        for arguments in calls:
            check(*arguments)

    return [
        Check(name, (check.__doc__ or "").partition("\n")[0], partial(run, check))
        for name, check in available.items()
        if name not in without
    ]


def require(condition: object, message: str) -> None:
    """Raise AssertionError with `message` unless `condition` is true.

    Unlike an `assert` statement, this also works under `python -O`.
    """
    if not condition:
        raise AssertionError(message)
