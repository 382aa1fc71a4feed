"""Registry of attacks, and the findings that they report."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from attacks.testbed import Testbed

SQLITE, POSTGRESQL = "SQLite", "PostgreSQL"
BOTH = (SQLITE, POSTGRESQL)


@dataclass(frozen=True)
class Finding:
    """Result of an attack, or of a part of it."""

    tried: str
    """Description of the attempt, with numbers."""
    expected: str
    """Limit, or what must happen."""
    measured: str
    """Description of the result."""
    held: bool
    """Whether the service did what is expected."""


class SkipAttack(Exception):  # noqa: N818 - it is no error
    """An attack cannot be carried out on this machine; the message says why."""


Run: TypeAlias = "Callable[[Testbed], Iterator[Finding]]"


@dataclass(frozen=True)
class Attack:
    """Function that attacks a service, and the stores on which it is run."""

    name: str
    """Name for `--only`, such as `frozen-process`."""
    title: str
    """Name in the table."""
    stores: tuple[str, ...]
    """Stores on which the attack is carried out."""
    run: Run
    """Function that carries out the attack and yields findings."""


ATTACKS: dict[str, Attack] = {}
"""All attacks by name, in the order in which their modules are imported."""


def attack(title: str, *, stores: tuple[str, ...] = BOTH) -> Callable[[Run], Run]:
    """Return a decorator that registers an attack under the name of its function.

    Parameters
    ----------
    title : str
        Name in the table.
    stores : tuple of str
        Stores on which the attack is carried out: one, if the store does not matter.

    Returns
    -------
    Callable
        Decorator, which returns the function unchanged.
    """

    def register(run: Run) -> Run:
        name = run.__name__.replace("_", "-")
        ATTACKS[name] = Attack(name, title, stores, run)
        return run

    return register


def list_times(*, expected: float, measured: float, unit: str = "s") -> tuple[str, str, bool]:
    """Return the texts of a limit and of a measurement in `unit`, and whether the limit holds."""
    return f"at most {expected:g} {unit}", f"{measured:.2f} {unit}", measured <= expected
