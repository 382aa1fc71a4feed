"""Random small worlds and delay laws."""

import numpy as np
from hypothesis import strategies as st

import belated as bl
from belated.delays.laws import Law


def random_world(
    rng: np.random.Generator, *, states: int, actions: int, horizon: int, homogeneous: bool
) -> bl.MDP:
    """Dirichlet rows with about half of the successors left out, random rewards and start."""
    stages = () if homogeneous else (horizon,)
    p = rng.dirichlet(np.full(states, 0.7), size=(*stages, states, actions))
    keep = rng.random(p.shape) < 0.5
    keep[..., rng.integers(states)] = True
    p = np.where(keep, np.maximum(p, 1e-3), 0)
    p /= p.sum(axis=-1, keepdims=True)
    rewards = np.round(rng.random((horizon, states, actions)), 1) * (rng.random() < 0.8)
    start = rng.dirichlet(np.ones(states))
    return bl.MDP.dense(p, rewards, start=start, horizon=horizon)


def with_restrictions(world: bl.MDP, rng: np.random.Generator) -> bl.MDP:
    """Return the world with random terminal states and allowed actions, if it has two states."""
    H, S, A = world.shape.table
    terminal = rng.permutation(S)[: rng.integers(0, max(1, S - 1) + 1) if S > 1 else 0]
    allowed = rng.random((H, S, A) if rng.random() < 0.5 else (S, A)) < 0.6
    allowed[..., rng.integers(A)] = True
    rewards, start = world.reward_table(), world.start.copy()
    rewards[:, terminal] = 0
    start[terminal] = 0
    transitions = world.transition_table()
    return bl.MDP.dense(
        transitions[0] if world.homogeneous else transitions,
        rewards,
        start=start / start.sum(),
        reward_draws=world.reward_draws,
        terminal=terminal,
        allowed=allowed if rng.random() < 0.7 else None,
    )


@st.composite
def worlds(draw: st.DrawFn) -> bl.MDP:
    """Worlds of up to 5 states, 3 actions and 5 steps."""
    return random_world(
        np.random.default_rng(draw(st.integers(0, 2**32))),
        states=draw(st.integers(1, 5)),
        actions=draw(st.integers(1, 3)),
        horizon=draw(st.integers(1, 5)),
        homogeneous=draw(st.booleans()),
    )


def laws() -> st.SearchStrategy[Law]:
    """Laws with a mean of a few episodes, some of which lose feedback for good."""
    means = st.integers(0, 6)
    whole = st.one_of(
        means.map(bl.delays.constant),
        means.map(bl.delays.uniform),
        means.map(bl.delays.poisson),
        means.map(bl.delays.geometric),
    )
    lossy = st.builds(bl.delays.never, st.sampled_from([0.1, 0.9]), otherwise=whole)
    return whole | lossy
