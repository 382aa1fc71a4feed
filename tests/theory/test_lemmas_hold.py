"""Tests of the lemmas and theorems against simulated runs.

The tests of Lemmas 1, 3, 4 and 5 have counterparts that show that runs violate the bound if a term
of it is dropped or divided by a small number. The theorems are far above the regret of any run; the
tests state by which factor. `test_decomposition.py` tests Lemma 2, and `test_premise.py` the
premise of Lemma 5 in the proof of Theorem 2.
"""

import math
from itertools import accumulate, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
from belated.delays import Law, constant, geometric, poisson, uniform
from belated.learner.bases import OPTIMISTIC
from belated.simulation.run import Run
from belated.theory import delayed_rewards as theorem_3
from belated.theory import epoch_bound, missing, psi, theorem_1, theorem_2, visit_bound
from belated.theory.bonus import BASES
from random_problems import puzzling_world, random_shape, random_world
from theory.lemmas import Paths, lazy_bound, lazy_sum, played, visit_sum

LAWS = [constant(20), uniform(20), poisson(20), geometric(20)]
ALPHAS = [1.0, 1.5, 2.0, 10.0, 100.0, math.inf]
ONE = bl.Shape(states=1, actions=1, horizon=1)


def alone() -> bl.MDP:
    """Return the world with one state, action and step."""
    return bl.MDP.dense(np.ones((1, 1, 1, 1)), np.ones((1, 1, 1)))


# Lemma 1: missing episodes


def most_missing(law: Law, episodes: int, seeds: int) -> list[int]:
    return [int(missing(law.draw(seed=seed, episodes=episodes)).max()) for seed in range(seeds)]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
@pytest.mark.parametrize("safe", [False, True])
def test_missing_episodes_stay_below_psi_as_often_as_it_says(law: Law, safe: bool) -> None:
    delta = 0.5  # large, so that violations are allowed
    bound = psi(law.mean, 1000, delta, safe=safe)
    held = np.array(most_missing(law, 1000, 100)) <= bound
    assert held.mean() >= 1 - delta / 5


@pytest.mark.parametrize("law", LAWS[1:], ids=lambda law: law.name)
def test_the_mean_delay_alone_is_not_a_bound(law: Law) -> None:
    held = np.array(most_missing(law, 1000, 100)) <= law.mean
    assert held.mean() < 0.5


# Lemma 4: epochs


def lazy_runs() -> list[tuple[bl.Shape, float, Run]]:
    runs = []
    for seed in range(42):
        rng = np.random.default_rng(seed)
        world = random_world(rng)
        alpha = ALPHAS[seed % len(ALPHAS)]
        base = OPTIMISTIC[BASES[seed % len(BASES)]](scale=0.1)
        law = LAWS[seed % len(LAWS)] if seed % 5 else constant(0)
        K = int(rng.integers(1, 400))
        run = bl.simulate(
            world, base=base, updater=bl.Lazy(alpha), delay=law, episodes=K, seed=seed
        )
        runs.append((world.shape, alpha, run))
    return runs


def test_no_run_has_more_epochs_than_the_corrected_bound() -> None:
    for shape, alpha, run in lazy_runs():
        assert run.epochs <= epoch_bound(shape, run.episodes, alpha)


@pytest.mark.parametrize(
    ("episodes", "epochs"), [(2, 2), (3, 3), (5, 4), (10, 5), (100, 8), (10_000, 15)]
)
def test_the_printed_bound_and_one_without_the_first_epoch_are_violated(
    episodes: int, epochs: int
) -> None:
    run = bl.simulate(alone(), base=bl.UCRL2(), updater=bl.Lazy(1), episodes=episodes)
    assert run.epochs == epochs
    assert epoch_bound(ONE, episodes, 1, printed=True) < epochs <= epoch_bound(ONE, episodes, 1)
    without_the_first = epoch_bound(ONE, episodes, 1) - 1
    assert without_the_first < epochs


# Lemma 3: the visits of the paths played


def visits(seed: int) -> tuple[bl.Shape, float, int, Paths]:
    """Return (shape, E[tau], max_k S_k, paths) of a learner in a random world."""
    rng = np.random.default_rng(seed)
    world = random_world(rng, random_shape(rng, most=3))
    law = LAWS[seed % len(LAWS)]
    base = OPTIMISTIC[BASES[seed % len(BASES)]](scale=0.2)
    updater = bl.Lazy(2) if seed % 3 == 0 else bl.Active()
    K = int(rng.integers(20, 250))
    run, paths = played(world, law, episodes=K, seed=seed, base=base, updater=updater)
    assert run.max_missing == missing(paths.delays).max()
    return world.shape, law.mean, run.max_missing, paths


def test_visit_sums_are_below_the_counting_lemma() -> None:
    for seed in range(20):
        shape, mean, most, paths = visits(seed)
        K = len(paths.delays)
        for late, power in product((most, psi(mean, K, 0.05)), (0.5, 1)):
            assert visit_sum(shape, paths, power) <= visit_bound(
                shape, K, missing=late, power=power
            )


@given(st.data())
def test_no_paths_and_delays_violate_the_counting_lemma(data: st.DataObject) -> None:
    shape = data.draw(st.builds(bl.Shape, st.integers(1, 3), st.integers(1, 2), st.integers(1, 2)))
    K = data.draw(st.integers(1, 60))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    H, S, A = shape.table
    delays = data.draw(st.lists(st.integers(0, 40), min_size=K, max_size=K))
    paths = Paths(rng.integers(0, S, (K, H)), rng.integers(0, A, (K, H)), delays)
    late = int(missing(delays).max())
    for power in (0.5, 1):
        assert visit_sum(shape, paths, power) <= visit_bound(shape, K, missing=late, power=power)


@pytest.mark.parametrize("power", [0.5, 1])
def test_a_third_of_the_counting_lemma_or_one_without_delay_is_violated(power: float) -> None:
    K = 200
    path = np.zeros((K, 1), int)
    at_once, late = Paths(path, path, [0] * K), Paths(path, path, [K] * K)
    without_delay = visit_bound(ONE, K, missing=0, power=power)
    assert visit_sum(ONE, at_once, power) > without_delay / 3
    assert visit_sum(ONE, late, power) > without_delay


# Lemma 5: lazy counters


def admissible(shares: list[float], alpha: float) -> list[float]:
    """Return n_j = share_j N_{j-1} / alpha."""
    numbers: list[float] = []
    total = 0.0
    for share in shares:
        numbers.append(share * max(1.0, total) / alpha)
        total += numbers[-1]
    return numbers


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=60),
    st.floats(1, 1000),
    st.sampled_from([0.5, 1]),
)
def test_no_admissible_sequence_violates_lemma_5(
    shares: list[float], alpha: float, power: float
) -> None:
    numbers = admissible(shares, alpha)
    total = max(1.0, sum(numbers))
    assert lazy_sum(numbers, power) <= lazy_bound(total, alpha, power) * (1 + 1e-12)


@pytest.mark.parametrize("alpha", [1, 2, 10, 100])
def test_the_fastest_growth_is_close_to_the_bound_and_violates_a_smaller_one(alpha: float) -> None:
    numbers = admissible([1.0] * int(30 * alpha), alpha)
    total = list(accumulate(numbers))[-1]
    slack = 1 + 1 / alpha
    root, inverse = (lazy_sum(numbers, power) for power in (0.5, 1))
    assert 0.6 * lazy_bound(total, alpha, 0.5) < root <= lazy_bound(total, alpha, 0.5)
    assert 0.7 * lazy_bound(total, alpha, 1) < inverse <= lazy_bound(total, alpha, 1)
    assert root > slack * math.sqrt(total)  # 1 + sqrt(2) (1 + 1/alpha) without its ends
    assert inverse > 1 + math.log(total)  # without the factor 1 + 1/alpha


# Theorems 1, 2 and 3


def regrets(updater: bl.Updater, theorem: str) -> list[tuple[float, float]]:
    """Return (regret, bound) of runs of every base in worlds that require exploration."""
    pairs = []
    for seed, name in enumerate(sorted(BASES) * 2):
        rng = np.random.default_rng(seed)
        world = puzzling_world(rng)
        law = LAWS[seed % len(LAWS)]
        run = bl.simulate(
            world, base=OPTIMISTIC[name](), updater=updater, delay=law, episodes=300, seed=seed
        )
        late = {"episodes": 300, "mean_delay": law.mean}
        if theorem == "theorem_1":
            bound = theorem_1(name, world.shape, **late)
        else:
            bound = theorem_2(name, world.shape, **late, alpha=updater.alpha)
        pairs.append((run.total_regret, bound.total))
    return pairs


def test_regret_of_active_updating_is_below_theorem_1() -> None:
    pairs = regrets(bl.Active(), "theorem_1")
    assert all(regret <= bound for regret, bound in pairs)
    assert any(regret > bound / 1e5 for regret, bound in pairs)


@pytest.mark.parametrize("alpha", [1.0, 10.0])
def test_regret_of_lazy_updating_is_below_theorem_2(alpha: float) -> None:
    pairs = regrets(bl.Lazy(alpha), "theorem_2")
    assert all(regret <= bound for regret, bound in pairs)
    assert any(regret > bound / 1e4 for regret, bound in pairs)


def test_regret_with_delayed_rewards_is_below_theorem_3() -> None:
    pairs = []
    for seed, law in enumerate(LAWS):
        world = puzzling_world(np.random.default_rng(seed))
        run = bl.simulate(
            world,
            base=bl.UCRL2(radius="paper"),
            updater=bl.Active(),
            delay=law,
            episodes=3000,
            seed=seed,
            rewards="unknown",
            late="rewards",
            reward_bonus="paper",
        )
        bound = theorem_3(world.shape, episodes=3000, mean_delay=law.mean)
        pairs.append((run.total_regret, bound.total))
    assert all(regret <= bound for regret, bound in pairs)
    assert any(regret > bound / 500 for regret, bound in pairs)
