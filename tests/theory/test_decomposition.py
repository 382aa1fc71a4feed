"""Lemma 2 against simulated runs."""

import math

import numpy as np
import pytest

import belated as bl
from belated.delays import constant, geometric, poisson, uniform
from belated.learner.bases import OPTIMISTIC
from belated.theory.bonus import BASES
from random_problems import puzzling_world
from theory.lemmas import lemma_2, played

LAWS = [constant(20), uniform(20), poisson(20), geometric(20)]


def trap() -> bl.MDP:
    """Return a world of two steps in which the first action earns nothing and the second one 1."""
    p, r = np.zeros((2, 3, 2, 3)), np.zeros((2, 3, 2))
    p[0, :, 0, 1] = p[0, :, 1, 2] = p[1, :, :, 0] = r[1, 2] = 1
    return bl.MDP.dense(p, r)


@pytest.mark.parametrize("name", BASES)
def test_the_regret_of_every_base_is_below_lemma_2(name: str) -> None:
    for seed, law in enumerate(LAWS):
        world = puzzling_world(np.random.default_rng(seed))
        base = OPTIMISTIC[name](delta=0.01)
        run, paths = played(world, law, episodes=100, seed=seed, base=base, updater="active")
        assert run.total_regret <= lemma_2(name, world.shape, paths)


def test_without_the_sum_of_bonuses_lemma_2_is_violated() -> None:
    """UCBVI-CH never leaves the trap; the bound is twelve times the regret."""
    K, H, C = 12_000, 2, 1
    base = bl.UCBVI_CH(delta=0.01)
    run, paths = played(trap(), geometric(20), episodes=K, seed=1, base=base, updater="active")
    regret = run.total_regret
    assert regret == K
    noise = 6 * (H + C) * math.sqrt(K * H * math.log(K * math.pi / 0.06))
    bound = lemma_2("ucbvi-ch", trap().shape, paths)
    assert noise < regret < bound < 13 * regret
