"""Delay laws: probabilities, draws by address, and error messages."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from belated.delays import (
    NEVER,
    Law,
    constant,
    empirical,
    from_scipy,
    geometric,
    longest_delay,
    never,
    parse,
    poisson,
    uniform,
)

SAMPLES = "samples must be whole numbers of at least 0, or inf for never, got "
FOUR = [constant, uniform, poisson, geometric]
LAWS = [
    constant(3),
    uniform(2),
    uniform(2.5),
    poisson(4),
    geometric(0.5),
    geometric(7),
    empirical([0, 0, 2, 9, math.inf]),
    from_scipy(stats.nbinom(5, 0.4)),
    never(0.25, otherwise=geometric(3)),
]
# irrational, so none of them is a value of a distribution function below
GRID = (np.arange(99_991) + 1 / math.pi) / 99_991

J = range(120)
PMF: dict[str, list[float]] = {
    "constant:3": [float(j == 3) for j in J],
    "uniform:2": [(j <= 4) / 5 for j in J],
    "uniform:2.5": [(j <= 5) / 6 for j in J],
    "poisson:4": [math.exp(-4) * 4**j / math.factorial(j) for j in J],
    "geometric:0.5": [2 / 3 * (1 / 3) ** j for j in J],
    "geometric:7": [1 / 8 * (7 / 8) ** j for j in J],
    "nbinom(5, 0.4)": [math.comb(j + 4, j) * 0.4**5 * 0.6**j for j in J],
}
WITH_PMF = [law for law in LAWS if law.name in PMF]


@pytest.mark.parametrize("law", WITH_PMF, ids=lambda law: law.name)
def test_share_of_uniforms_up_to_a_delay_is_its_distribution_function(law: Law) -> None:
    delays = law.at(GRID)
    for j, share in enumerate(np.cumsum(PMF[law.name])):
        assert np.array_equal(delays <= j, share > GRID)


@pytest.mark.parametrize("mean", [1.0, 3.0, 100.0])
def test_geometric_quantile_inverts_its_distribution_function(mean: float) -> None:
    law = geometric(mean)
    log_q = -math.log1p(1 / mean)
    for j in range(200):
        at = -math.expm1((j + 1) * log_q)
        if at > 0.999999:
            break
        assert law.quantile(at) == j
        assert law.quantile(math.nextafter(at, 1)) == j + 1


def test_quantiles_at_the_ends_are_the_ends_of_the_support() -> None:
    assert [law.quantile(0) for law in (constant(3), uniform(2), poisson(4), geometric(7))] == [
        3,
        0,
        0,
        0,
    ]
    assert [law.quantile(1) for law in (constant(3), uniform(2))] == [3, 4]
    assert poisson(4).quantile(1) == geometric(7).quantile(1) == math.inf
    assert from_scipy(stats.randint(2, 6)).quantile(0) == 2


def test_feedback_never_returns_with_the_given_probability() -> None:
    law = never(0.25, otherwise=uniform(1))
    delays = law.at(GRID)
    assert np.array_equal(delays == NEVER, GRID < 0.25)
    shares = [np.mean(delays == j) for j in range(3)]
    assert shares == pytest.approx([0.25] * 3, abs=2e-5)
    assert law.mean == math.inf
    assert law.quantile(0.75) == 2
    assert law.quantile(0.76) == math.inf


def test_never_with_probability_one_or_zero_is_always_or_not_at_all() -> None:
    always = never(1, otherwise=poisson(3))
    assert (always.at(GRID) == NEVER).all()
    assert always.quantile(0) == math.inf
    not_at_all = never(0, otherwise=poisson(3))
    assert np.array_equal(not_at_all.at(GRID), poisson(3).at(GRID))
    assert not_at_all.mean == 3


def test_empirical_law_resamples_what_was_observed() -> None:
    law = empirical([5, 1, 5, math.inf, NEVER, 2])
    delays = law.at(GRID)
    values, times = np.unique(delays, return_counts=True)
    assert values.tolist() == [1, 2, 5, NEVER]
    assert times / GRID.size == pytest.approx([1 / 6, 1 / 6, 2 / 6, 2 / 6], abs=2e-5)
    assert law.mean == math.inf
    assert empirical([5, 1]).mean == 3


def test_scipy_law_keeps_its_lower_end_mean_and_name() -> None:
    law = from_scipy(stats.geom(0.25, loc=1))
    assert law.at(np.array([0.0, 0.3])).tolist() == [2, 3]
    assert law.mean == 5
    assert law.name == "geom(0.25, loc=1)"


@pytest.mark.parametrize(
    "name", ["constant:5", "uniform:2.5", "poisson:0.1", "geometric:100", "never:0.1:poisson:30"]
)
def test_a_law_is_parsed_from_its_name(name: str) -> None:
    law = parse(name)
    assert law.name == name
    assert parse(law.name) == law


def test_longest_delay_is_infinite_if_any_never_returns() -> None:
    assert longest_delay(np.array([4, 9, 0])) == 9
    assert isinstance(longest_delay([4, 9]), int)
    assert longest_delay([4, NEVER]) == math.inf
    assert longest_delay([]) == 0


@pytest.mark.parametrize("make", FOUR)
@pytest.mark.parametrize("mean", [-1, math.nan, math.inf, -0.5, 2**54])
def test_a_mean_out_of_range_raises_an_error(make: Callable[[float], Law], mean: float) -> None:
    with pytest.raises(
        ValueError, match=rf"^mean of a {make.__name__} delay must lie in 0 \.\. 2\*\*53, "
    ):
        make(mean)


@pytest.mark.parametrize("mean", ["3", None, True])
def test_a_mean_that_is_not_a_number_raises_an_error(mean: object) -> None:
    with pytest.raises(TypeError, match=r"^mean of a geometric delay must be a number, got "):
        geometric(mean)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda: constant(2.5), "mean of a constant delay must be a whole number, got 2.5."),
        (lambda: uniform(2.3), "mean of a uniform delay must be half of a whole number,"),
        (lambda: never(1.5, constant(1)), "probability must lie in [0, 1], got 1.5."),
        (lambda: empirical([]), "samples must hold at least one delay, got none."),
        (lambda: empirical([1, -2]), f"{SAMPLES}-2.0."),
        (lambda: empirical([1, 2.5]), f"{SAMPLES}2.5."),
        (lambda: empirical([1, math.nan]), f"{SAMPLES}nan."),
        (lambda: from_scipy(stats.expon(scale=3)), "frozen must be a discrete distribution"),
        (lambda: from_scipy(stats.randint(-2, 4)), "frozen must be a distribution of numbers"),
        (lambda: from_scipy(stats.poisson(-1)), "frozen must have scalar parameters that are"),
        (lambda: from_scipy(stats.poisson([1, 2])), "frozen must have scalar parameters that are"),
        (
            lambda: from_scipy(stats.poisson(3, loc=0.5)).at(GRID),
            "quantiles of law 'poisson(3, loc=0.5)' must be whole numbers of at least 0, or inf",
        ),
        (lambda: constant(1).quantile(1.1), "p must lie in [0, 1], got 1.1."),
        (lambda: constant(1).quantile(math.nan), "p must lie in [0, 1], got nan."),
        (lambda: constant(1).at(np.array([1.0])), "u must lie in [0, 1), got [1.]."),
        (lambda: constant(1).draw(seed=-1, episodes=3), "seed must lie in 0 .. 2**64 - 1, got -1."),
        (lambda: constant(1).draw(seed=1, episodes=-3), "episodes must be at least 0, got -3."),
        (lambda: constant(1).draw(seed=1, episodes=3, first=0), "first must be at least 1, got 0."),
    ],
)
def test_errors_state_in_one_line_what_is_expected(
    attempt: Callable[[], object], message: str
) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011
        attempt()
    found = str(error.value)
    assert found.startswith(message)
    assert found.endswith(".")
    assert "\n" not in found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gaussian:3", r"delay must be one of constant:MEAN, .*, got 'gaussian:3'\."),
        ("never:0.1:soon", r"delay must be one of constant:MEAN, .*, got 'soon'\."),
        ("geometric", r"delay 'geometric' needs mean, as in 'geometric:MEAN'\."),
        ("geometric:many", r"delay 'geometric' is invalid: mean .* must be a number, got 'many'\."),
        ("never:0.1", r"delay must have the form never:PROBABILITY:DELAY, .*, got 'never:0\.1'\."),
        ("never:often:constant:1", r"delay must have the form never:PROBABILITY:DELAY, .*"),
    ],
)
def test_an_unknown_name_of_a_law_is_an_error_that_lists_the_names(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        parse(text)


@pytest.mark.parametrize("value", [stats.poisson, 3, None])
def test_only_a_frozen_distribution_makes_a_law(value: object) -> None:
    with pytest.raises(TypeError, match=r"^frozen must be a frozen discrete distribution"):
        from_scipy(value)


@pytest.mark.parametrize("mean", [1e-6, 0.3, 30, 500, 10_000])
def test_quantiles_of_a_poisson_law_from_the_table_are_the_computed_ones(mean: float) -> None:
    rng = np.random.default_rng(0)
    limits = stats.poisson.cdf(np.arange(mean + 5), mean)
    near = rng.choice(limits, 5_000) + rng.integers(-3_000, 3_000, 5_000) * 2.0**-53
    p = np.concatenate([rng.random(20_000), np.clip(near, 0, 1 - 2**-53), [0.0, 1 - 2**-53]])
    expected = np.maximum(stats.poisson.ppf(p, mean), 0.0)
    assert np.array_equal(poisson(mean).quantiles(p), expected)
