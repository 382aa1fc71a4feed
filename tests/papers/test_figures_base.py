"""The base behind the published figures: its formula, and the regret it leads to."""

import numpy as np
import pytest

import belated as bl
from belated.papers.howson2021.base import Published
from belated.papers.howson2021.published import PUBLISHED
from random_problems import random_counts, random_shape


def by_the_formula(m, rewards, log):
    """Q, (H, S, A), of pooled counts (S, A, S)."""
    H, S, A = rewards.shape
    q, v = np.zeros((H, S, A)), np.zeros(S)
    n = m.sum(axis=-1)
    for h in reversed(range(H)):
        for s, a in np.ndindex(S, A):
            if n[s, a] == 0:
                q[h, s, a] = rewards[h, s, a] + H + v.mean()
                continue
            p = m[s, a] / n[s, a]
            deviation = np.sqrt(np.average((v - p @ v) ** 2, weights=p))
            bonus = deviation * np.sqrt(8 * log / n[s, a]) + 14 * H * log / (3 * n[s, a])
            q[h, s, a] = rewards[h, s, a] + p @ v + (bonus if h < H - 1 else 0)
        v = q[h].max(axis=1)
    return q


def test_plans_follow_the_formula():
    rng = np.random.default_rng(9)
    above = 0
    for i in range(150):
        shape = random_shape(rng, least=1)
        n, m = (counts[0] for counts in random_counts(rng, shape, most=10 ** (1 + i % 4)))
        rewards = rng.random(shape.table)
        log = float(rng.uniform(1, 10))
        H = shape.horizon
        found = bl.plan(Published(log=log), n, m, rewards, episodes=10, horizon=H).q
        np.testing.assert_allclose(found, by_the_formula(m, rewards, log), rtol=1e-12)
        above += int((found > np.arange(H, 0, -1)[:, None, None]).sum())
    assert above > 100  # nothing is clipped


@pytest.mark.parametrize("states", [5, 10])
def test_without_delay_regret_is_close_to_the_published_one(states):
    runs = bl.simulate_many(
        bl.chain(states),
        base=Published(ties="random"),
        updater=bl.Active(),
        episodes=10_000,
        seeds=range(10),
        stages="pooled",
    )
    mean = np.mean([run.total_regret for run in runs])
    assert mean == pytest.approx(PUBLISHED[states, "active", "constant", 0], rel=0.08)
