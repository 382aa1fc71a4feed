"""What the suites share: a check, how to choose checks, and how one fails."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Check:
    """One property of one part; call it, and it raises AssertionError if that does not hold."""

    name: str
    about: str
    """What it holds, in a sentence."""
    _run: Callable[[], None] = field(repr=False, compare=False)

    def __call__(self) -> None:
        try:
            self._run()
        except AssertionError as error:
            error.args = (f"{error} A part that does not claim this says without=['{self.name}'].",)
            raise

    def __str__(self) -> str:
        return self.name


def choose(
    offered: Mapping[str, Callable[..., None]], without: Collection[str], *given: Any
) -> list[Check]:
    """The checks on offer but for some, each bound to what it is given."""
    if isinstance(without, str):
        raise TypeError(f"without is {without!r}; it must be a list of names of checks.")
    unknown = [name for name in without if name not in offered]
    if unknown:
        raise ValueError(
            f"without has {unknown[0]!r}; the checks of this part are {', '.join(offered)}."
        )
    return [
        Check(name, (check.__doc__ or "").partition("\n")[0], _bound(check, given))
        for name, check in offered.items()
        if name not in without
    ]


def _bound(check: Callable[..., None], given: tuple[Any, ...]) -> Callable[[], None]:
    return lambda: check(*given)


def hold(claim: object, sentence: str) -> None:
    """`assert` that python -O does not silence."""
    if not claim:
        raise AssertionError(sentence)


def called(part: object) -> str:
    """What sentences call a part."""
    return type(part).__name__
