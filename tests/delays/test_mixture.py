"""Mixtures of delay laws."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from belated.delays import mixture, parse
from belated.delays.laws import NEVER

LAW = mixture([(0.25, "constant:2"), (0.75, "geometric:9")])


def test_a_mixture_splits_the_uniform_number() -> None:
    u = np.array([0.0, 0.2499, 0.25, 0.625, 1 - 2**-53])
    geometric = parse("geometric:9").at(np.array([0, 0.5, 1 - 2**-53]))
    assert LAW.at(u).tolist()[:4] == [2, 2, *geometric.tolist()[:2]]
    assert LAW.at(u[4:])[0] > 300


def test_the_mean_and_the_quantiles_are_exact() -> None:
    assert LAW.mean == 0.25 * 2 + 0.75 * 9
    j = np.arange(200)
    share = 0.25 * (j >= 2) + 0.75 * stats.geom.cdf(j, 0.1, loc=-1)
    for p in (1e-6, 0.1, 0.2, 0.4, 0.5, 0.9, 0.999999):
        assert LAW.quantile(p) == np.flatnonzero(share >= p)[0]
    assert (LAW.quantile(0.0), LAW.quantile(1.0)) == (0, math.inf)


def test_what_one_part_loses_is_lost() -> None:
    law = mixture([(0.5, "never:0.5:constant:3"), (0.5, "constant:1")])
    assert (law.mean, law.quantile(0.5), law.quantile(0.75)) == (math.inf, 1, 3)
    assert law.quantile(0.76) == math.inf
    delays = law.draw(seed=1, episodes=10_000)
    assert (delays == NEVER).mean() == pytest.approx(0.25, abs=0.02)


def test_never_applies_to_a_mixture() -> None:
    law = parse("never:0.5:mixture:0.25=constant:2,0.75=geometric:9")
    u = np.array([0.49, 0.5, 0.6249, 0.625, 0.8125])
    assert law.at(u).tolist() == [NEVER, 2, 2, 0, *LAW.at(np.array([0.625]))]
    assert law.quantile(0.5) == math.inf


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([(0.5, "constant:0"), (0.4, "constant:1")], r"^weights must sum to 1, got 0\.9\.$"),
        ([(1.5, "constant:0"), (-0.5, "constant:1")], r"^weights must lie in \(0, 1\], got 1\.5"),
        ([], r"^parts must be a list of pairs such as \(0\.2, 'constant:0'\), got \[\]\.$"),
        ([(1, "weekly:7:constant:0")], r"must not depend on the number of the episode"),
        ([(1, "by_state:0:else=constant:0")], r"must not depend on the played episode"),
    ],
)
def test_invalid_mixtures_are_rejected_with_one_sentence(parts: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mixture(parts)
