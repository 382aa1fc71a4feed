"""Updaters that depend on when episodes were started: batches, schedules and ages."""

import math
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.delays.queue import Queue
from belated.learner.feedback import Feedback, whole_episode
from belated.learner.updaters import UPDATER_NAMES
from belated.learner.updaters.batched import minimax_grid
from belated.mdp.play import play
from belated.options import name_with_options
from snapshots import same
from worlds import random_world

BASE = bl.UCRL2(scale=0.1)
SHAPE = bl.Shape(3, 2, 3)
UPDATERS: dict[str, Any] = {
    "batched": bl.Batched(),
    "scheduled": bl.Scheduled(4),
    "matured active": bl.Matured(bl.Active(), age=5),
    "matured lazy": bl.Matured(bl.Lazy("auto"), age=4),
    "matured batched": bl.Matured(bl.Batched([2, 6]), age=6),
    "matured scheduled": bl.Matured(bl.Scheduled(5), age=3),
}
every_updater = pytest.mark.parametrize("updater", UPDATERS.values(), ids=UPDATERS.keys())


def a_world(seed: int = 1) -> bl.MDP:
    rng = np.random.default_rng(seed)
    return random_world(rng, states=3, actions=2, horizon=3, homogeneous=False)


def new_learner(updater: Any, *, base: Any = BASE) -> bl.Learner:
    rewards = np.linspace(0, 1, 6).reshape(3, 2)
    return bl.Learner(SHAPE, base=base, updater=updater, rewards=rewards, episodes=60)


def an_episode(id: int) -> bl.Episode:
    rng = np.random.default_rng(id)
    return bl.Episode(id, rng.integers(0, 3, 4), rng.integers(0, 2, 3))


# Learner: feedback is passed as it arrives, and the learner waits for ages by itself


@every_updater
@pytest.mark.parametrize("restored", [False, True], ids=["", "restored in every episode"])
def test_a_learner_given_feedback_as_it_arrives_plays_the_simulated_policies(
    updater: Any, restored: bool
) -> None:
    world, K = a_world(), 40
    law = bl.delays.geometric(4)
    setting = {"base": BASE, "updater": updater, "delay": law, "episodes": K, "trace": True}
    run = bl.simulate(world, **setting, every=1)
    learner = bl.Learner(
        world.shape, base=BASE, updater=updater, rewards=world.reward_table(), episodes=K
    )
    queue: Queue[Feedback] = Queue()
    for k, delay in enumerate(law.draw(seed=0, episodes=K).tolist(), start=1):
        if restored:
            learner = bl.Learner.restore(learner.snapshot())
        learner.absorb(queue.due(k))
        assert learner.missing == learner.status.missing == k - 1 - learner.observed
        policy = learner.start(k)
        assert np.array_equal(policy.actions, run.policies[k - 1])
        queue.push(whole_episode(play(world, policy, seed=0, episode=k)), delay)
    assert (learner.epochs, learner.missing) == (run.epochs, run.missing)
    assert learner.mean_delay == pytest.approx(run.mean_delay)


def test_feedback_is_counted_when_its_episode_is_old_enough_and_not_before() -> None:
    learner = new_learner(bl.Matured(bl.Active(), age=3))
    for id in (1, 2):
        learner.start(id)
    learner.observe([an_episode(2), an_episode(1)])
    assert (learner.observed, learner.missing, learner.updates) == (0, 2, 0)
    learner.start(3)  # at its start, 3 - 1 < 3 for episode 1
    assert learner.observed == 0
    learner.start(4)
    assert (learner.observed, learner.missing, learner.updates) == (1, 3, 1)
    learner.start(5)
    assert (learner.observed, learner.updates) == (2, 2)
    with pytest.raises(ValueError, match="Episode 1 has been observed already"):
        learner.observe(an_episode(1))


def test_a_held_visit_is_in_flight_in_the_status() -> None:
    learner = new_learner(bl.Matured(bl.Active(), age=9))
    learner.start(1)
    learner.observe(an_episode(1))
    status = learner.status
    assert status.exact
    assert status.in_flight.sum() == 3  # one visit at each step, all of them held


def test_an_age_has_the_effect_of_a_constant_delay_under_shorter_delays() -> None:
    setting = {"base": BASE, "episodes": 60, "every": 1}
    aged = bl.simulate(
        a_world(), updater=bl.Matured(bl.Active(), age=9), delay="uniform:4", **setting
    )
    constant = bl.simulate(a_world(), updater=bl.Active(), delay="constant:8", **setting)
    assert np.array_equal(aged.regret, constant.regret)
    assert aged.updates == constant.updates


def test_a_share_is_the_age_by_which_the_law_has_returned_it() -> None:
    law = bl.delays.uniform(10)  # 0 .. 20, each with probability 1 / 21
    share = bl.Matured(bl.Active(), share=18 / 21).for_simulation(law)
    assert share.age == 18  # delays 0 .. 17 are back at the start of i + 18


def test_a_share_is_that_of_every_kind_of_episodes_if_delays_depend_on_them() -> None:
    law = bl.delays.by_return([0.5], ["constant:3", "uniform:10"])
    share = bl.Matured(bl.Active(), share=18 / 21).for_simulation(law)
    assert share.age == 18
    seasons = bl.delays.by_return([0.5], ["constant:3", "by_time:5=constant:1,5=constant:2"])
    with pytest.raises(ValueError, match="share needs a delay law that does not change with time"):
        bl.Matured(bl.Active(), share=0.9).for_simulation(seasons)


# Batches and schedules


@pytest.mark.parametrize(
    "updater",
    ["batched:doubling", "batched:minimax", "batched:3-9", "batched:400", "scheduled:7"],
)
def test_the_expected_plans_are_those_of_a_run_without_delay(updater: str) -> None:
    run = bl.simulate(a_world(), base=BASE, updater=updater, delay="constant:0", episodes=60)
    assert UPDATER_NAMES.parse(updater).expected_plans(60, rows=12) == run.epochs
    assert UPDATER_NAMES.parse(f"matured:5:{updater}").expected_plans(60, rows=12) == run.epochs


def test_feedback_of_an_earlier_batch_does_not_end_a_batch() -> None:
    learner = new_learner(bl.Batched([1, 2]))
    for id in (1, 2, 3):
        learner.start(id)
    learner.observe(an_episode(2))  # ends batch 1
    assert learner.epochs == 2
    learner.observe([an_episode(1), an_episode(3)])
    assert learner.epochs == 2
    for id in (4, 5):
        learner.start(id)
    learner.observe(an_episode(5))
    assert learner.epochs == 2
    learner.observe(an_episode(4))
    assert learner.epochs == 3


def test_a_batch_counts_an_episode_when_its_last_step_is_back() -> None:
    learner = new_learner(bl.Batched([1]))
    learner.start(1)
    for h in range(3):
        assert learner.epochs == 1
        learner.observe_steps(bl.Step(1, h, 0, 0, 0))
    assert learner.epochs == 2


@pytest.mark.parametrize("episodes", [1, 2, 3, 16, 17, 1000, 10**4, 10**6, 10**12])
def test_the_minimax_grid_has_its_formula(episodes: int) -> None:
    grid = minimax_grid(episodes)
    batches = max(1, math.ceil(math.log2(math.log2(episodes))) + 1) if episodes > 2 else 1
    assert len(grid) == batches
    for m, t in enumerate(grid, start=1):
        assert t ** (2**m) >= episodes ** (2**m - 1)
        assert t == 1 or (t - 1) ** (2**m) < episodes ** (2**m - 1)


# Names and invalid options


@pytest.mark.parametrize(
    ("text", "updater"),
    [
        ("batched", bl.Batched()),
        ("batched:doubling", bl.Batched()),
        ("batched:minimax,episodes=100", bl.Batched("minimax", 100)),
        ("batched:10-100", bl.Batched([10, 100])),
        ("scheduled:100", bl.Scheduled(100)),
        ("scheduled:100,arrivals", bl.Scheduled(100, "arrivals")),
        ("matured:500:active", bl.Matured(bl.Active(), 500)),
        ("matured:500:lazy:10", bl.Matured(bl.Lazy(10), 500)),
        ("matured:share=0.9:batched:3-9", bl.Matured(bl.Batched([3, 9]), share=0.9)),
        ("matured:9,unit=seconds:active", bl.Matured(bl.Active(), 9, unit="seconds")),
    ],
)
def test_a_name_gives_the_updater_and_the_updater_its_name(text: str, updater: Any) -> None:
    assert UPDATER_NAMES.parse(text) == updater
    assert UPDATER_NAMES.parse(name_with_options(updater)) == updater


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: bl.Matured(bl.Active(), age=-1), "age must be at least 0, got -1."),
        (lambda: bl.Matured(bl.Active()), "Give either age or share, got age=None and share=None."),
        (lambda: bl.Matured(bl.Active(), share=1.0), "share must lie strictly between 0 and 1"),
        (lambda: bl.Matured(bl.MultiInstance(), age=5), "updater must not be MultiInstance"),
        (lambda: bl.Matured("matured:3:active", age=5), "updater must not be a second Matured"),
        (lambda: bl.Matured(7, age=5), "updater must be an Updater such as Active"),
        (lambda: UPDATER_NAMES.parse("matured:500"), "got 500; the form as text is matured:AGE:"),
        (lambda: bl.Batched([5, 5, 9]), r"increase from each to the next, got \[5, 5, 9\]."),
        (lambda: bl.Batched([]), "grid must hold at least one number"),
        (lambda: bl.Batched([0, 4]), "grid must be at least 1, got 0."),
        (lambda: bl.Batched("doublin"), "Did you mean 'doubling'?"),
        (lambda: bl.Batched("minimax").trigger_rule(), "needs the number of episodes K"),
        (lambda: bl.Scheduled(0), "every must be at least 1, got 0."),
        (lambda: bl.Scheduled(1.5), "every must be an integer, got 1.5."),
        (lambda: new_learner(bl.Matured(bl.Active(), share=0.9)), "share needs a delay law"),
        (
            lambda: new_learner(bl.Batched(), base=bl.PSRL(resample="episode")),
            "psrl plans for every episode",
        ),
        (
            lambda: new_learner(bl.Batched()).observe(an_episode(1)),
            r"Batched must know when it was started, so call start\(1\) first.",
        ),
        (
            lambda: bl.simulate(
                a_world(), base=BASE, updater=bl.Scheduled(9, "seconds"), episodes=9
            ),
            "a simulation has no time of day",
        ),
        (
            lambda: bl.simulate(
                a_world(), base=BASE, updater="matured:9,unit=seconds:active", episodes=9
            ),
            "a simulation has no time of day",
        ),
        (
            lambda: bl.simulate(
                a_world(),
                base=BASE,
                updater="matured:share=0.95:active",
                delay=bl.delays.never(0.1, otherwise=bl.delays.geometric(3)),
                episodes=9,
            ),
            "share=0.95 of the feedback never arrives",
        ),
    ],
)
def test_invalid_input_gets_one_sentence(make: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message) as error:
        make()
    assert str(error.value)[-1] in ".?"
    assert "\n" not in str(error.value)


def test_a_snapshot_of_held_feedback_is_checked() -> None:
    learner = new_learner(bl.Matured(bl.Active(), age=9))
    learner.start(1)
    learner.observe(an_episode(1))
    saved = learner.snapshot()
    assert same(bl.Learner.restore(saved).snapshot(), saved)
    saved["held"][0]["feedback"]["states"] = np.array([0, 0, 99])
    with pytest.raises(ValueError, match="states of feedback"):
        bl.Learner.restore(saved)
