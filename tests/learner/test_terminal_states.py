"""Learners with terminal states and allowed actions, and the warning where they are missing."""

import re
import warnings
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.learner.bases import Fixed
from belated.mdp.play import play
from snapshots import same

NEW, INTERESTED, SOLD, GONE = range(4)
NOTHING, MAIL, PRESS = range(3)
H = 6
SHOP = bl.MDP.dense(
    [
        [[0.9, 0.06, 0, 0.04], [0.56, 0.4, 0, 0.04], [0, 0, 0.04, 0.96]],
        [[0.1, 0.8, 0.06, 0.04], [0, 0.423, 0.537, 0.04], [0, 0, 0.1, 0.9]],
        np.zeros((3, 4)),
        np.zeros((3, 4)),
    ],
    [[0, 0, 0.04], [0.06, 0.537, 0.1], [0, 0, 0], [0, 0, 0]],
    horizon=H,
    reward_draws="bernoulli",
    terminal=[SOLD, GONE],
)
SHAPE = bl.Shape(4, 3, H, terminal=[SOLD, GONE], allowed={INTERESTED: [NOTHING, MAIL]})


def shop_learner(shape: bl.Shape = SHAPE, **given: Any) -> bl.Learner:
    options = {"base": bl.UCRL2(scale=0.1), "updater": bl.Active(), "rewards": None, **given}
    return bl.Learner(shape, episodes=2000, **options)


def padded(episode: bl.Episode) -> bl.Episode:
    """Return the episode with its last state repeated up to H steps, and nothing done there."""
    rest = H - episode.actions.size
    assert episode.rewards is not None
    return bl.Episode(
        episode.id,
        [*episode.states, *[episode.states[-1]] * rest],
        [*episode.actions, *[NOTHING] * rest],
        [*episode.rewards, *[0.0] * rest],
    )


def run_shop(learner: bl.Learner, episodes: int, *, pad: bool) -> float:
    """Serve customers, whose outcomes arrive in batches of 20; return the value of the policy."""
    for first in range(1, episodes, 20):
        arrived = []
        for k in range(first, first + 20):
            actions = learner.start(k).actions.copy()
            episode = play(SHOP, bl.Policy(actions), seed=1, episode=k)
            arrived.append(padded(episode) if pad else episode)
        learner.observe(arrived)
    return bl.policy_value(SHOP, learner.policy)


def an_episode(id: int = 1) -> bl.Episode:
    states, actions = [NEW, INTERESTED, INTERESTED, SOLD], [MAIL, NOTHING, MAIL]
    return bl.Episode(id, states, actions, [0, 0, 1])


def steps_of(episode: bl.Episode) -> list[bl.Step]:
    assert episode.rewards is not None
    rows = zip(episode.states, episode.actions, episode.states[1:], episode.rewards, strict=False)
    return [bl.Step(episode.id, h, s, a, y, reward) for h, (s, a, y, reward) in enumerate(rows)]


# The trap


def test_padded_outcomes_without_terminal_states_teach_to_lose_customers() -> None:
    learner = shop_learner(bl.Shape(4, 3, H), stages="pooled")
    with pytest.warns(UserWarning, match=r"declare terminal=\[2, 3\]"):
        value = run_shop(learner, 2000, pad=True)
    assert value == pytest.approx(0.04)


@pytest.mark.parametrize("pad", [False, True], ids=["ended", "padded"])
def test_with_terminal_states_the_learner_finds_the_optimal_policy(pad: bool) -> None:
    learner = shop_learner(bl.Shape(4, 3, H), stages="pooled", terminal=[SOLD, GONE])
    best = bl.optimal_value(SHOP)
    assert best == pytest.approx(0.754, abs=5e-4)
    assert run_shop(learner, 2000, pad=pad) == best


# Feedback that ends early


def test_ended_and_padded_episodes_teach_the_same() -> None:
    ended, full = shop_learner(), shop_learner()
    ended.observe([an_episode()])
    full.observe([padded(an_episode())])
    assert same(ended.snapshot(), full.snapshot())
    assert (ended.observed, ended.missing) == (1, 0)


def test_the_value_of_a_terminal_state_is_known() -> None:
    learner = shop_learner()
    assert learner.value[[SOLD, GONE]].tolist() == [0, 0]
    assert not learner.policy.actions[:, [SOLD, GONE]].any()


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1], [2, 1, 0]])
def test_an_episode_is_complete_with_the_last_step_before_its_end(order: list[int]) -> None:
    whole, learner, steps = shop_learner(), shop_learner(), steps_of(an_episode())
    whole.start(1)
    learner.start(1)
    whole.observe([an_episode()])
    for count, step in enumerate(order, start=1):
        assert learner.missing == 1
        learner.observe_steps([steps[step]])
        assert learner.observed == (count == 3)
        learner = bl.Learner.restore(learner.snapshot())
    learner.observe_steps([bl.Step(1, 3, SOLD, NOTHING, SOLD, 0)])  # padding
    assert (learner.observed, learner.missing) == (1, 0)
    np.testing.assert_array_equal(whole.policy.actions, learner.policy.actions)
    np.testing.assert_array_equal(
        *(one.snapshot()["instances"][0]["counts"]["n"] for one in (whole, learner))
    )


@pytest.mark.parametrize("late", [[0, 0, 1], [0, 0, 1, 0, np.nan, 0]], ids=["ended", "padded"])
def test_late_rewards_complete_an_ended_path(late: list[float]) -> None:
    learner = shop_learner(late="rewards")
    learner.start(1)
    learner.observe_path([padded(an_episode())])
    learner = bl.Learner.restore(learner.snapshot())
    assert learner.status.in_flight[2, INTERESTED, MAIL] == 1
    assert learner.status.in_flight.sum() == 3
    learner.observe_rewards({1: [np.nan, 0, np.nan]})
    assert learner.missing == 1
    learner.observe_rewards({1: [late[0], np.nan, *late[2:]]})
    assert (learner.observed, learner.missing) == (1, 0)


def test_a_late_reward_after_the_end_is_refused() -> None:
    learner = shop_learner(late="rewards")
    learner.observe_path([an_episode()])
    with pytest.raises(ValueError, match=r"^rewards\[4\] of episode 1 must be 0 after the term"):
        learner.observe_rewards({1: [0, 0, 1, 0, 0.5, 0]})
    with pytest.raises(ValueError, match=r"^rewards of episode 1 must have shape \(6,\)"):
        learner.observe_rewards({1: [0, 0]})


def test_an_episode_in_flight_can_visit_only_what_is_playable() -> None:
    learner = shop_learner(stages="pooled")
    learner.start(1)
    possible = learner.status.in_flight[0] > 0
    assert possible.tolist() == [[True] * 3, [True, True, False], [False] * 3, [False] * 3]


@pytest.mark.parametrize("late", ["everything", "rewards"])
def test_a_snapshot_of_a_restricted_learner_is_restored(late: str) -> None:
    learner = shop_learner(late=late)
    for k in range(1, 30):
        episode = an_episode(k)
        if late == "rewards":
            learner.observe_path([episode])
        else:
            learner.observe_steps(steps_of(episode)[k % 3 :])
    restored = bl.Learner.restore(learner.snapshot())
    assert restored.shape == SHAPE
    assert same(learner.snapshot(), restored.snapshot())
    assert restored.missing == learner.missing > 0


# Allowed actions


def test_feedback_with_a_forbidden_action_is_refused() -> None:
    learner = shop_learner()
    wrong = bl.Episode(1, [NEW, INTERESTED, GONE], [MAIL, PRESS], [0, 0])
    message = r"must be allowed in state 1 at step 1, where the allowed actions are \[0, 1\]; got 2"
    with pytest.raises(ValueError, match=message):
        learner.observe([wrong])
    with pytest.raises(ValueError, match=message):
        learner.observe_steps([bl.Step(1, 1, INTERESTED, PRESS, GONE, 0)])
    assert (learner.observed, learner.missing) == (0, 0)


def test_a_forbidden_action_is_never_planned() -> None:
    rewards = np.zeros((4, 3))
    rewards[INTERESTED] = [0, 0.1, 1]
    learner = shop_learner(rewards=rewards)
    assert learner.policy.actions[:, INTERESTED].tolist() == [MAIL] * H


def test_a_plan_of_given_counts_keeps_to_the_restrictions() -> None:
    n, m = np.zeros((2, 3, 2), np.int64), np.zeros((2, 3, 2, 3), np.int64)
    rewards = [[0.5, 1], [0.5, 0], [0, 0]]
    made = bl.plan(bl.UBEV(), n, m, rewards, episodes=10, terminal=[2], allowed={0: [0], 1: [0, 1]})
    assert made.policy[1].tolist() == [0, 0, 0]
    assert made.v[1].tolist() == [0.5, 0.5, 0]
    assert made.q[0, 2].tolist() == [0, -np.inf]


def test_a_fixed_policy_must_be_allowed() -> None:
    with pytest.raises(ValueError, match=r"^Each of actions must be allowed in state 1 at step 0"):
        shop_learner(base=Fixed(actions=np.full((H, 4), PRESS)))
    actions = np.where(np.arange(4) == INTERESTED, MAIL, PRESS)
    learner = shop_learner(base=Fixed(actions=np.tile(actions, (H, 1))))
    assert learner.policy.actions[0].tolist() == [PRESS, MAIL, 0, 0]


def test_rewards_in_a_terminal_state_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^rewards must be 0 in terminal states, got 1\.0 at \["):
        shop_learner(rewards=np.ones((4, 3)))


class Planner:
    """Planner that always does the same thing, and accepts restrictions."""

    def __init__(self, action: int) -> None:
        self.action = action
        self.shapes: list[bl.Shape] = []

    def plan(
        self, visits: Any, transitions: Any, rewards: Any, episodes: int, *, shape: bl.Shape
    ) -> bl.Plan:
        self.shapes.append(shape)
        policy = np.full((H, 4), self.action, np.int32)
        return bl.Plan(policy, np.zeros((H, 4, 3)), np.zeros((H + 1, 4)))


class Unaware:
    """Planner that knows no restrictions."""

    def plan(self, visits: Any, transitions: Any, rewards: Any, episodes: int) -> Any: ...


def test_a_planner_receives_the_restrictions_or_is_refused() -> None:
    planner = Planner(MAIL)
    shop_learner(base=planner)
    assert planner.shapes == [SHAPE]
    with pytest.raises(ValueError, match=r"^Each planned action must be allowed in state 1 at st"):
        shop_learner(base=Planner(PRESS))
    with pytest.raises(TypeError, match=r"^The plan method of Unaware must accept the keyword sh"):
        shop_learner(base=Unaware())


class Curious(bl.Updater):
    """Updater that explores every action everywhere."""

    name = "curious"

    def due(self, arrival: bl.Arrival) -> bool:
        return False

    def explorer(self, shape: bl.Shape) -> bl.Explorer:
        class Everything(bl.Explorer):
            def marks(self) -> Any:
                return np.ones(shape.table, np.bool_)

        return Everything()


def test_an_own_exploration_rule_draws_allowed_actions_only() -> None:
    policy = shop_learner(updater=Curious()).policy
    assert policy.explore is not None
    np.testing.assert_array_equal(policy.explore, SHAPE.playable)


# The warning


def feed(learner: bl.Learner, episodes: list[tuple[list[int], list[float]]]) -> list[str]:
    """Observe episodes one by one; return the messages of the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k, (states, rewards) in enumerate(episodes):
            learner.observe([bl.Episode(k, states, [k % 3] * H, rewards)])
    return [str(one.message) for one in caught]


LOST = ([NEW, NEW, NEW, GONE, GONE, GONE, GONE], [0.0] * H)
KEPT = ([NEW, INTERESTED, NEW, INTERESTED, NEW, INTERESTED, NEW], [0.0] * H)


def test_repetitions_to_the_end_are_warned_of_once() -> None:
    messages = feed(shop_learner(bl.Shape(4, 3, H)), [LOST, KEPT] * 40)
    assert len(messages) == 1
    assert messages[0].startswith("10 of 20 episodes repeat one of the states [3] to the end, and ")


@pytest.mark.parametrize(
    "episodes",
    [
        [LOST] * 19,
        [LOST, KEPT, KEPT] * 20,
        [([NEW, GONE, NEW, NEW, GONE, GONE, GONE], [0.0] * H)] * 30,
        [([NEW, NEW, NEW, GONE, GONE, GONE, GONE], [0, 0, 0, 0, 1, 0])] * 30,
        [([NEW] * 7, [0.0] * H)] * 30,
        [([NEW] * 5 + [GONE] * 2, [0.0] * H)] * 30,
    ],
    ids=["few", "rare", "left", "rewarded", "never entered", "short"],
)
def test_other_episodes_are_not_warned_of(episodes: Any) -> None:
    assert feed(shop_learner(bl.Shape(4, 3, H)), episodes) == []


def test_declared_terminal_states_are_not_warned_of() -> None:
    assert feed(shop_learner(), [LOST] * 30) == []


def test_known_rewards_in_the_repeated_state_are_no_sign_of_an_end() -> None:
    for reward, count in ((0.0, 1), (0.5, 0)):
        rewards = np.zeros((4, 3))
        rewards[GONE] = reward
        learner = shop_learner(bl.Shape(4, 3, H), rewards=rewards)
        assert len(feed(learner, [(LOST[0], None)] * 30)) == count  # type: ignore[list-item]


@pytest.mark.parametrize(
    "name", ["chain-8", "riverswim-6", "deep-sea-6", "grid-3x3", "garnet-5-2-2"]
)
def test_common_worlds_cause_no_warning(name: str) -> None:
    world = bl.world(name)
    learner = bl.Learner(
        world.shape, base=bl.UCRL2(), updater=bl.Active(), rewards=None, episodes=200
    )
    for k in range(1, 201):
        learner.observe([play(world, learner.start(k), seed=3, episode=k)])


@pytest.mark.parametrize(
    ("action", "value", "message"),
    [
        (1, 0.0, "must be allowed in state 0 at step 0"),
        (-1, 0.0, r"must lie in 0 .. 1, got -1"),
        (7, 0.0, r"must lie in 0 .. 1, got 7"),
        (0, 1.0, "v of a plan must be 0 in terminal states, got 1"),
    ],
)
def test_a_plan_of_a_planner_is_checked_wherever_it_is_used(
    action: int, value: float, message: str
) -> None:
    class Careless:
        def plan(self, *_: Any, shape: bl.Shape) -> bl.Plan:
            v = np.zeros((shape.horizon + 1, shape.states))
            v[0, 1] = value
            actions = np.full((shape.horizon, shape.states), action)
            return bl.Plan(actions, np.zeros(shape.table), v)

    shape = bl.Shape(2, 2, 1, terminal=[1], allowed={0: [0]})
    with pytest.raises(ValueError, match=message):
        bl.plan(
            Careless(),
            np.zeros((1, 2, 2)),
            np.zeros((1, 2, 2, 2)),
            np.zeros((2, 2)),
            episodes=5,
            terminal=[1],
            allowed={0: [0]},
        )
    with pytest.raises(ValueError, match=message):
        bl.Learner(
            shape, base=Careless(), updater=bl.Active(), rewards=np.zeros((2, 2)), episodes=5
        ).start(1)


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        (
            bl.Step(1, 0, INTERESTED, MAIL, INTERESTED, 0),
            bl.Step(1, 1, 0, NOTHING, 0, 0),
            "Step 1 of episode 1 must begin in state 1, to which step 0 leads, got state 0.",
        ),
        (
            bl.Step(1, 1, 0, NOTHING, 0, 0),
            bl.Step(1, 0, INTERESTED, MAIL, INTERESTED, 0),
            "Step 0 of episode 1 must lead to state 0, in which step 1 begins, got state 1.",
        ),
        (
            bl.Step(1, 1, INTERESTED, MAIL, SOLD, 1),
            bl.Step(1, 2, GONE, NOTHING, GONE, 0),
            f"Step 2 of episode 1 must not begin in the terminal state {GONE}: it ends after step "
            f"1 in state {SOLD}.",
        ),
        (
            bl.Step(1, 1, 0, NOTHING, 0, 0),
            bl.Step(1, 3, GONE, NOTHING, GONE, 0),
            f"Step 3 of episode 1 must not begin in the terminal state {GONE}: no step that "
            "reaches it has been observed.",
        ),
    ],
)
@pytest.mark.parametrize("together", [True, False])
def test_steps_that_do_not_join_are_refused(
    first: bl.Step, second: bl.Step, reason: str, together: bool
) -> None:
    learner = shop_learner()
    learner.start(1)
    if not together:
        learner.observe_steps([first])
    with pytest.raises(ValueError, match=f"^{re.escape(reason)}$"):
        learner.observe_steps([first, second] if together else [second])
