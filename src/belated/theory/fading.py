"""From which number of episodes on delay costs less than learning."""

from collections.abc import Callable

from belated.theory.regret import Regret

FAR = 10**18
"""More episodes than anyone plays."""


def fades_from(regret: Callable[[int], Regret]) -> int | None:
    """The K from which the delay term stays below the leading one; None if not before 10^18.

    `regret` gives both for a number of episodes. K is doubled to find the last place where the
    terms change sides, and halved to find it exactly.

    >>> fades_from(lambda K: Regret(leading=K**0.5, delay=10.0, most=K, order=True))
    101
    """
    high = FAR
    if not _faded(regret(high)):
        return None
    while high > 1:
        low = max(1, high // 2)
        if not _faded(regret(low)):
            break
        high = low
    else:
        return 1
    while high - low > 1:
        middle = (low + high) // 2
        if _faded(regret(middle)):
            high = middle
        else:
            low = middle
    return high


def _faded(regret: Regret) -> bool:
    return regret.delay < regret.leading
