"""Tests of orders as text, as LaTeX and as numbers."""

import pytest

from belated.episode import Shape
from belated.theory import Order


def test_an_order_is_written_with_its_half_powers_under_one_root() -> None:
    assert Order(H=2, A=0.5).text == "H^2 sqrt(A)"
    assert Order(S=1, G=0.5, T=0.5).latex == r"S \sqrt{\Gamma T}"
    assert Order(H=1, S=1, A=1).text == "HSA"


def test_an_order_is_a_product_of_powers() -> None:
    shape = Shape(states=4, actions=3, horizon=2)
    order = Order(H=2, S=0.5, G=1, A=1, T=0.5)
    assert order(shape, episodes=8) == pytest.approx(4 * 2 * 4 * 3 * 4)
    assert order(shape, episodes=8, reachable=1) == pytest.approx(4 * 2 * 3 * 4)


def test_an_order_without_episodes_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"^episodes must be at least 1, got 0.$"):
        Order(T=1)(Shape(1, 1, 1), episodes=0)
