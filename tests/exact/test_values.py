import itertools

import numpy as np
import pytest

from belated.episode import Policy
from belated.exact.values import (
    optimal_table,
    optimal_value,
    policy_table,
    policy_value,
)
from belated.mdp.classics import chain
from belated.mdp.model import MDP

TIGHT = {"rtol": 0, "atol": 1e-12}


def random_world(seed: int, H: int, S: int, A: int, *, homogeneous: bool = False) -> MDP:
    rng = np.random.default_rng(seed)
    lead = (S, A) if homogeneous else (H, S, A)
    p = rng.random((*lead, S)) * (rng.random((*lead, S)) < 0.6)
    p[..., 0] += 0.1
    start = rng.random(S)
    return MDP.dense(
        p / p.sum(axis=-1, keepdims=True), rng.random(lead), horizon=H, start=start / start.sum()
    )


def dense_values(world: MDP, weights: np.ndarray | None) -> np.ndarray:
    """Return V by backward induction on dense tables; V* if no weights are given."""
    p, r = world.transition_table(), world.reward_table()
    v = np.zeros((world.shape.horizon + 1, world.shape.states))
    for h in reversed(range(world.shape.horizon)):
        q = r[h] + p[h] @ v[h + 1]
        v[h] = q.max(axis=1) if weights is None else (weights[h] * q).sum(axis=1)
    return v


def random_weights(seed: int, world: MDP) -> np.ndarray:
    weights = np.random.default_rng(seed).random(world.shape.table)
    weights[:, :, 0][weights[:, :, 0] < 0.5] = 0.0
    return weights / weights.sum(axis=2, keepdims=True)


def random_policy(seed: int, world: MDP) -> Policy:
    """Return a policy that explores in some cells, among one action or several."""
    rng = np.random.default_rng(seed)
    H, S, A = world.shape.table
    actions = rng.integers(0, A, (H, S)).astype(np.int32)
    return Policy(actions, rng.random((H, S, A)) < 0.4)


@pytest.mark.parametrize("reward_on", ["state", "state_right"])
@pytest.mark.parametrize(
    ("S", "best"),
    [(5, 0.4096), (10, 0.3874204890), (20, 0.3773536025), (30, 0.3741326001)],
)
def test_the_chain_is_worth_what_the_paper_says(S, best, reward_on):
    value = optimal_value(chain(S, reward_on=reward_on))
    assert value == pytest.approx(best, abs=6e-11)
    assert value == pytest.approx((1 - 1 / S) ** (S - 1), rel=1e-14)


@pytest.mark.parametrize(
    ("S", "state", "state_right"),
    [(5, 0.0256, 0.0128), (10, 7.5668e-4, 3.7834e-4), (20, 7.197e-7, 3.6e-7), (30, 7e-10, 3.5e-10)],
)
def test_playing_the_chain_at_random_earns_next_to_nothing(S, state, state_right):
    uniformly = np.full((S, S, 2), 0.5)
    exploring = Policy(np.zeros((S, S), np.int32), np.ones((S, S, 2), np.bool_))
    for reward_on, value, share in (("state", state, 1.0), ("state_right", state_right, 0.5)):
        world = chain(S, reward_on=reward_on)
        for policy in (uniformly, exploring):
            found = policy_value(world, policy)
            assert found == pytest.approx(value, rel=3e-2 if S == 30 else 1e-3)
            assert found == pytest.approx(share * (0.5 - 0.5 / S) ** (S - 1), rel=1e-13)


@pytest.mark.parametrize("seed", range(3))
def test_no_deterministic_policy_beats_the_optimal_value_and_one_attains_it_everywhere(seed):
    H, S, A = 2, 3, 2
    world = random_world(seed, H, S, A)
    tables = np.array(
        [
            policy_table(world, np.array(choice).reshape(H, S))
            for choice in itertools.product(range(A), repeat=H * S)
        ]
    )
    best = optimal_table(world)
    np.testing.assert_allclose(tables.max(axis=0), best, **TIGHT)
    assert (np.abs(tables - best).max(axis=(1, 2)) < 1e-12).any()


@pytest.mark.parametrize("homogeneous", [False, True])
@pytest.mark.parametrize("size", [(1, 1, 1), (1, 4, 2), (5, 2, 3), (7, 9, 4)])
def test_tables_agree_with_dense_backward_induction(size, homogeneous):
    world = random_world(sum(size), *size, homogeneous=homogeneous)
    weights, policy = random_weights(1, world), random_policy(2, world)
    plain = policy.actions.astype(np.int64)
    one_hot = np.eye(world.shape.actions)[plain]
    marks = Policy(policy.actions).probabilities(world.shape.actions)
    for found, expected in (
        (optimal_table(world), None),
        (policy_table(world, weights), weights),
        (policy_table(world, policy), policy.probabilities(world.shape.actions)),
        (policy_table(world, plain), one_hot),
        (policy_table(world, plain.tolist()), marks),
    ):
        np.testing.assert_allclose(found, dense_values(world, expected), **TIGHT)
        assert (found[-1] == 0).all()


def test_values_are_averaged_over_the_start():
    world = random_world(3, 4, 5, 2)
    weights = random_weights(4, world)
    best, mixed = dense_values(world, None)[0], dense_values(world, weights)[0]
    assert optimal_value(world) == pytest.approx(world.start @ best, abs=1e-12)
    assert policy_value(world, weights) == pytest.approx(world.start @ mixed, abs=1e-12)
    assert type(optimal_value(world)) is type(policy_value(world, weights)) is float


def test_a_homogeneous_world_has_the_bits_of_its_stage_by_stage_copy():
    once = random_world(5, 6, 7, 3, homogeneous=True)
    p, r = once.transition_table(), once.reward_table()
    weights, policy = random_weights(6, once), random_policy(7, once)
    for transitions, rewards in ((p, r), (p[0], r), (p, r[0])):
        copy = MDP.dense(transitions, rewards, start=once.start)
        np.testing.assert_array_equal(optimal_table(copy), optimal_table(once))
        for each in (weights, policy, policy.actions):
            np.testing.assert_array_equal(policy_table(copy, each), policy_table(once, each))
        assert optimal_value(copy) == optimal_value(once)


def test_one_marked_action_is_worth_what_playing_it_is():
    world = random_world(13, 4, 5, 3)
    actions = random_policy(14, world).actions
    marked = Policy(np.zeros_like(actions), np.eye(3, dtype=np.bool_)[actions])
    np.testing.assert_array_equal(policy_table(world, marked), policy_table(world, actions))


@pytest.mark.parametrize(
    ("policy", "error", "message"),
    [
        (
            np.zeros((3, 2), int),
            ValueError,
            r"^The policy's actions must have shape \(H, S\) = \(2, 2\) .*, got \(3, 2\)\.$",
        ),
        (
            [[0, 1], [2, 0]],
            ValueError,
            r"^The policy's action at step 1, state 0 must be in 0 \.\. 1, got 2\.$",
        ),
        (
            np.full((2, 3, 2), 0.5),
            ValueError,
            r"^Probabilities of policy must have shape .* = \(2, 2, 2\), got \(2, 3, 2\)\.$",
        ),
        (
            [[[0.5, 0.5], [1.5, -0.5]], [[0.5, 0.5], [0.5, 0.5]]],
            ValueError,
            r"^The probability in policy of action 0 at step 0, state 1 must lie .*, got 1\.5\.$",
        ),
        (
            [[[0.5, 0.5], [0.5, 0.5]], [[0.5, np.nan], [0.5, 0.5]]],
            ValueError,
            r"^The probability in policy of action 1 at step 1, state 0 must lie in .*, got nan\.$",
        ),
        (
            [[[0.5, 0.5], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.25]]],
            ValueError,
            r"^The probabilities in policy at step 1, state 1 must sum to 1 .*, got 0\.75\.$",
        ),
        (
            np.zeros((2, 2)),
            TypeError,
            r"^policy must be a Policy, .*, got an array of shape \(2, 2\) and type float64\.$",
        ),
        (
            [[0, 1], [0]],
            TypeError,
            r"^policy must be a Policy, integer .*, got an array of shape ",
        ),
        ([[["a"]]], TypeError, r"^policy must be .* shape \(1, 1, 1\) and type <U1\.$"),
        (np.zeros(4, int), TypeError, r"^policy must be .* shape \(4,\) and type int64\.$"),
    ],
)
def test_a_bad_policy_raises_an_error(policy, error, message):
    with pytest.raises(error, match=message):
        policy_value(chain(2), policy)
