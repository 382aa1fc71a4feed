"""Tests that text and numbers of Table 1 agree."""

import math
import re

import pytest

from belated.episode import Shape
from belated.theory import TABLE_1, table_1
from belated.theory.bonus import BASES, optimism

SHAPE = Shape(states=7, actions=3, horizon=5)
K, MEAN, ALPHA = 1000, 11.0, 4.0
GIVEN = {"episodes": K, "mean_delay": MEAN, "alpha": ALPHA}


def value(text: str) -> float:
    """Return the value of a formula given as text."""
    python = text.replace("E[tau]", f"({MEAN})").replace("alpha", f"({ALPHA})")
    python = re.sub(r"(?<![a-z])([HSGAT]{1,4})(?![a-z])", lambda m: "*".join(m[1]), python)
    python = python.replace("ln", "log").replace("^", "**")
    python = re.sub(r"(?<=[\w)]) (?=[\w(])", "*", python)
    names = {"H": 5, "S": 7, "A": 3, "T": 5000, "G": 7, "sqrt": math.sqrt, "log": math.log}
    return float(eval(python, names))


@pytest.mark.parametrize("one", TABLE_1, ids=lambda one: one.base)
def test_numbers_agree_with_the_texts(one) -> None:
    [found] = [numbers for numbers in table_1(SHAPE, **GIVEN) if numbers.base == one.base]
    assert found.immediate.total == pytest.approx(value(one.immediate.text))
    assert found.active.total == pytest.approx(value(one.active))
    assert found.lazy.total == pytest.approx(value(one.lazy))
    assert found.active.order
    assert found.lazy.order


def test_the_table_is_the_papers() -> None:
    assert [(one.base, one.C, one.immediate.text, one.active) for one in TABLE_1] == [
        ("ubev", 1, "H^(3/2) sqrt(SAT)", "H^(3/2) sqrt(SAT) + H^3 S^2 A E[tau]"),
        ("ucbvi-ch", 1, "H^(3/2) sqrt(SAT)", "H^(3/2) sqrt(SAT) + H^3 S^2 A E[tau]"),
        ("ucrl2", 0, "H^(3/2) S sqrt(AT)", "H^(3/2) S sqrt(AT) + H^2 S^(3/2) A E[tau]"),
        ("kl-ucrl", 0, "H^(3/2) S sqrt(AT)", "H^(3/2) S sqrt(AT) + H^2 S^(3/2) A E[tau]"),
        ("ucrl2b", 0, "H sqrt(SGAT)", "sqrt(H) H sqrt(SGAT) + H^2 S^2 A E[tau]"),
        ("chi2-ucrl", 0, "HS sqrt(AT)", "sqrt(H) HS sqrt(AT) + H^2 S^2 A E[tau]"),
        ("ucbvi-bf", 1, "H sqrt(SAT)", "sqrt(H) H sqrt(SAT) + H^3 S^2 A E[tau]"),
    ]
    lazy = "(1 + 1/alpha) {} + H^2 SA E[tau] / ln(1 + 1/alpha)"
    assert all(one.lazy == lazy.format(one.immediate.text) for one in TABLE_1)


def test_the_table_has_every_base_with_its_c() -> None:
    assert {one.base for one in TABLE_1} == set(BASES)
    for one in TABLE_1:
        assert one.C == optimism(one.base, SHAPE, episodes=K).C


def test_fewer_reachable_states_lower_only_ucrl2b() -> None:
    for all_, few in zip(
        table_1(SHAPE, **GIVEN), table_1(SHAPE, **GIVEN, reachable=2), strict=True
    ):
        ratio = few.immediate.total / all_.immediate.total
        assert ratio == pytest.approx(math.sqrt(2 / 7) if all_.base == "ucrl2b" else 1)


def test_no_delay_costs_nothing_even_if_alpha_is_infinite() -> None:
    given = {**GIVEN, "mean_delay": 0, "alpha": math.inf}
    for numbers in table_1(SHAPE, **given):
        assert numbers.lazy.total == numbers.immediate.total
    assert table_1(SHAPE, **{**given, "mean_delay": 1})[0].lazy.delay == math.inf


@pytest.mark.parametrize("reachable", [0, 8])
def test_an_invalid_number_of_reachable_states_is_rejected(reachable: int) -> None:
    with pytest.raises(ValueError, match=f"^reachable must lie between .*, got {reachable}"):
        table_1(SHAPE, **GIVEN, reachable=reachable)
