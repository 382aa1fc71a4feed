"""From which K on delay is the smaller term."""

import pytest

from belated.theory.fading import fades_from
from belated.theory.regret import Regret


@pytest.mark.parametrize(
    ("delay", "first"), [(0.5, 1), (1.0, 2), (10.0, 101), (12345.0, 12345**2 + 1)]
)
def test_fading_is_found_exactly(delay: float, first: int) -> None:
    assert fades_from(lambda K: Regret(K**0.5, delay, K, order=True)) == first


def test_what_never_fades_is_said_so() -> None:
    assert fades_from(lambda K: Regret(1.0, 2.0, K, order=True)) is None
    assert fades_from(lambda K: Regret(2.0, 1.0, K, order=True)) == 1
