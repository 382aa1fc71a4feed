"""Print the tables of docs/contexts.md: `python docs/contexts.py`, in under a minute.

A shop sees visitors who differ in their visit (first or repeated), age and device. The best action
depends on visit and age, and not on the device. A mean of runs is printed with half the width of
its 95 % confidence interval.
"""

from collections.abc import Iterator
from itertools import product

import numpy as np

import belated as bl
from belated.episode import Floats
from measured import mean_text

FACTORS = {
    "visit": ["first", "repeated"],
    "age": ["young", "old"],
    "device": ["phone", "laptop"],
}
PROGRESS = ["browsing", "interested"]
ACTIONS = ("wait", "mail", "call")
BEST = {"first": {"young": 1, "old": 1}, "repeated": {"young": 2, "old": 0}}
"""Index of the best action for a visit and an age."""

HORIZON = 4
EPISODES = 20_000
SEEDS = range(40)
DELAYS = ("constant:0", "geometric:100", "geometric:500")


def states_of(factors: int) -> bl.States:
    """Return the states of a shop that knows the first `factors` of `FACTORS` of its visitors."""
    known = dict(list(FACTORS.items())[:factors])
    return bl.states(**known, progress=PROGRESS)


def shop(states: bl.States) -> bl.MDP:
    """Return the world in which all differences between visitors are those in `states`.

    A good action interests a visitor, or sells something to one who is interested, with
    probability 0.6; another action with 0.2. The context of a visitor does not change.
    """
    p, r = np.zeros((len(states), len(ACTIONS), len(states))), np.zeros((len(states), len(ACTIONS)))
    for s, name in enumerate(states):
        *context, progress = name.split("/")
        visit, age = [*context, *("first", "young")[len(context) :]][:2]
        for a in range(len(ACTIONS)):
            moves = 0.6 if a == BEST[visit][age] else 0.2
            other = "interested" if progress == "browsing" else "browsing"
            p[s, a, states.index("/".join([*context, other]))] = moves
            p[s, a, s] = 1 - moves
            r[s, a] = moves if progress == "interested" else 0
    start = np.array([name.endswith("browsing") for name in states], float)
    return bl.MDP.dense(p, r, start=start / start.sum(), horizon=HORIZON, reward_draws="bernoulli")


def lost_episodes(world: bl.MDP, delay: str, seeds: range = SEEDS) -> Floats:
    """Return the final regret of each run as a number of episodes: divided by V*."""
    runs = bl.simulate_many(
        world,
        base="ubev:scale=0.3",
        updater="lazy:10",
        delay=delay,
        episodes=EPISODES,
        seeds=seeds,
        rewards="unknown",
        stages="pooled",
    )
    return np.array([run.total_regret for run in runs]) / bl.optimal_value(world)


def learning_table(seeds: range = SEEDS) -> Iterator[str]:
    """Yield the lines of the table of the episodes that contexts cost."""
    yield "| Contexts | States | E[τ] = 0 | E[τ] = 100 | E[τ] = 500 |"
    yield "| ---: | ---: | ---: | ---: | ---: |"
    for factors in range(len(FACTORS) + 1):
        states = states_of(factors)
        found = (lost_episodes(shop(states), delay, seeds) for delay in DELAYS)
        cells = " | ".join(map(mean_text, found))
        yield f"| {2**factors} | {len(states)} | {cells} |"


def best_coarse_value(world: bl.MDP, coarse: bl.Coarsening) -> float:
    """Return the value of the best policy that sees the coarse states and not the step."""
    index = coarse.coarse_index
    values = []
    for actions in product(range(len(ACTIONS)), repeat=len(coarse.states)):
        lifted = np.tile(np.array(actions, np.int32)[index], (HORIZON, 1))
        values.append(bl.policy_value(world, bl.Policy(lifted)))
    return max(values)


def coarsening_table() -> Iterator[str]:
    """Yield the lines of the table of the values that coarser states can reach."""
    states = states_of(2)
    world = shop(states)
    yield "| Known | States | Best value | Share of V* |"
    yield "| --- | ---: | ---: | ---: |"
    for dropped in ((), ("age",), ("visit",), ("visit", "age")):
        coarse = states.drop(*dropped)
        known = [name for name in coarse.states.factors if name != "progress"]
        value = best_coarse_value(world, coarse)
        share = value / bl.optimal_value(world)
        cells = (" and ".join(known) or "neither", len(coarse.states), f"{value:.3f}")
        yield f"| {' | '.join(map(str, cells))} | {share:.0%} |"


if __name__ == "__main__":
    print("\n".join([*learning_table(), "", *coarsening_table()]))
