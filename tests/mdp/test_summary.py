"""Facts about a world that `belated show` prints and notebooks display."""

from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.mdp.classics import garnet
from belated.mdp.summary import summary


def test_a_world_is_told_by_its_sizes_transitions_rewards_and_first_state() -> None:
    assert summary(bl.chain(2)) == {
        "size": "2 states, 2 actions, 2 steps",
        "transitions": "the same at every step",
        "successors": "6, at most 2 per state and action",
        "rewards": "0 to 1, the same at every step, deterministic",
        "first state": "0",
    }
    large = summary(garnet(300, 4, horizon=20, branching=5))
    assert large["successors"] == "6,000, at most 5 per state and action"


def test_what_differs_by_step_and_is_drawn_is_told() -> None:
    p = np.full((3, 2, 1, 2), 0.5)
    for draws, phrase in (("bernoulli", "Bernoulli draws"), ("beta", "Beta draws")):
        facts = summary(bl.MDP.dense(p, np.zeros((3, 2, 1)), reward_draws=draws))  # type: ignore[arg-type]
        assert facts["transitions"] == "different for each step"
        assert facts["rewards"] == f"0 to 0, different for each step, {phrase}"


@pytest.mark.parametrize(
    ("start", "said"),
    [
        (2, "2"),
        ([0.25, 0, 0.75, 0, 0, 0], "0 (0.25), 2 (0.75)"),
        (np.full(6, 1 / 6), "one of 6"),
    ],
)
def test_the_first_state_is_named_while_there_are_few(start: Any, said: str) -> None:
    world = bl.MDP.dense(np.full((6, 1, 6), 1 / 6), np.zeros((6, 1)), horizon=2, start=start)
    assert summary(world)["first state"] == said
