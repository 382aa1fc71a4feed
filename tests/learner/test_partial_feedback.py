"""Feedback in pieces: steps, paths and rewards, each once, and what is missing meanwhile."""

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
from belated.learner.bases import EpsilonGreedy
from belated.mdp.play import play
from belated.theory import psi
from combinations import spread
from random_problems import dense_counts, random_episodes, random_world
from snapshots import ROUTES, same

SHAPE = bl.Shape(3, 2, 3)
H, S, A = SHAPE.table
NAN = math.nan


def make(**options: Any) -> bl.Learner:
    given: dict[str, Any] = {
        "base": bl.UCRL2(scale=0.1),
        "updater": bl.Active(),
        "rewards": None,
        "episodes": 100,
        **options,
    }
    return bl.Learner(SHAPE, **given)


def paid_episodes(seed: int, count: int, *, first: int = 1) -> list[bl.Episode]:
    rng = np.random.default_rng(seed)
    return [
        bl.Episode(e.id, e.states, e.actions, rng.random(H))
        for e in random_episodes(rng, SHAPE, count, first=first)
    ]


def steps_of(episode: bl.Episode) -> list[bl.Step]:
    assert episode.rewards is not None
    return [
        bl.Step(
            episode.id,
            h,
            state=episode.states[h],
            action=episode.actions[h],
            successor=episode.states[h + 1],
            reward=episode.rewards[h],
        )
        for h in range(H)
    ]


def planned(learner: bl.Learner) -> dict[str, Any]:
    """Return the inputs and the result of its only plan."""
    instance = learner.snapshot()["instances"][0]
    return {
        "n": instance["counts"]["n"],
        "reward_sums": instance["reward_sums"],
        "rewards": instance["rewards"],
        "q": instance["table"]["q"],
        "v": instance["table"]["v"],
        "actions": instance["table"]["actions"],
    }


def unchanged(learner: bl.Learner, refused: Callable[[], Any], message: str) -> None:
    """The call is refused with this message, and the learner is as it was."""
    before = learner.snapshot()
    with pytest.raises((TypeError, ValueError), match=message):
        refused()
    assert same(learner.snapshot(), before)


# Steps


@given(st.randoms(use_true_random=False), st.integers(1, 12))
def test_steps_may_come_in_any_order(random: Any, pieces: int) -> None:
    episodes = paid_episodes(1, 6)
    steps = [step for episode in episodes for step in steps_of(episode)]
    random.shuffle(steps)
    cuts = sorted(random.randrange(len(steps)) for _ in range(pieces))
    learner, other = make(), make()
    for lo, hi in zip([0, *cuts], [*cuts, len(steps)], strict=True):
        learner.observe_steps(steps[lo:hi])
    other.observe(episodes)
    assert same(planned(learner), planned(other))
    assert learner.policy == other.policy
    assert (learner.observed, learner.missing) == (6, 0)


def test_an_episode_is_back_when_all_of_its_steps_are() -> None:
    learner = make()
    learner.start(1)
    [episode] = paid_episodes(3, 1)
    for i, h in enumerate((1, 2, 0)):
        assert (learner.observed, learner.missing) == (0, 1)
        assert learner.updates == i
        learner.observe_steps([steps_of(episode)[h]])
    assert (learner.observed, learner.missing) == (1, 0)
    with pytest.raises(ValueError, match=r"^id must be new, but episode 1 "):
        learner.start(1)


def test_an_episode_never_announced_is_missing_once_a_step_of_it_has_come() -> None:
    learner = make()
    learner.observe_steps(steps_of(paid_episodes(3, 1)[0])[:1])
    assert (learner.observed, learner.missing, learner.status.begun) == (0, 1, 0)


def test_a_step_counts_once() -> None:
    one, two, three = paid_episodes(4, 3)
    learner = make()
    learner.observe([one])
    learner.observe_steps(steps_of(two)[:2])

    def refused(batch: Any, part: str) -> None:
        unchanged(learner, lambda: learner.observe_steps(batch), rf"^{part} .* already; .* once\.$")

    fresh = steps_of(three)
    refused([*fresh, *steps_of(two)[1:]], "Step 1 of episode 2")
    refused([*fresh, steps_of(one)[0]], "Episode 1")
    refused([*fresh, *fresh], "Step 0 of episode 3")
    refused([fresh[2], fresh[2]], "Step 2 of episode 3")
    # nor does it count again with the whole
    message = r"^Step 0 of episode 2 .* already; .* once\.$"
    unchanged(learner, lambda: learner.observe([three, two]), message)
    learner.observe_steps(steps_of(two)[2:])
    learner.observe([three])
    assert (learner.observed, learner.missing) == (3, 0)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (
            bl.Step(9, 3, 0, 0, 0, 0.5),
            r"^step .*episode 9 must lie in 0 \.\. 2, got 3\.$",
        ),
        (
            bl.Step(9, 0, 3, 0, 0, 0.5),
            r"^state .*episode 9 must lie in 0 \.\. 2, got 3\.$",
        ),
        (bl.Step(9, 0, 0, 2, 0, 0.5), r"^action .*episode 9 must lie in 0 \.\. 1, got 2\.$"),
        (
            bl.Step(9, 0, 0, 0, 3, 0.5),
            r"^successor .*episode 9 must lie in 0 \.\. 2, got 3\.$",
        ),
        (
            bl.Step(9, 0, 0, 0, 0),
            r"^Episode 9 has no rewards; they are unknown, .*\.$",
        ),
        (
            bl.Episode(9, [0, 0, 0, 0], [0, 0, 0]),
            r"^Feedback must be of type Step, got Ep.*\.$",
        ),
    ],
)
def test_a_bad_step_leaves_the_learner_as_it_was(step: Any, message: str) -> None:
    learner = make()
    good = steps_of(paid_episodes(5, 1)[0])
    unchanged(learner, lambda: learner.observe_steps([good[0], step, good[1]]), message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"reward": 1.5},
            r"^The reward of step 0 of episode 9 must lie in \[0, 1\], got 1\.5; map rewards ",
        ),
        (
            {"reward": NAN},
            r"^The reward of step 0 of episode 9 must lie in \[0, 1\], got nan; map ",
        ),
        ({"reward": "1"}, r"^The reward of step 0 of episode 9 must be a number, got '1'\.$"),
        ({"step": -1}, r"^step must be at least 0, got -1\.$"),
        ({"state": 0.5}, r"^state must be an integer, got 0\.5\.$"),
        ({"id": -1}, r"^Step id must be at least 0, got -1\.$"),
    ],
)
def test_what_is_no_step_is_refused(options: dict[str, Any], message: str) -> None:
    given = {"id": 9, "step": 0, "state": 0, "action": 0, "successor": 0, **options}
    with pytest.raises((TypeError, ValueError), match=message):
        bl.Step(**given)


def test_known_rewards_need_not_come_with_a_step() -> None:
    learner = make(rewards=np.full((S, A), 0.5))
    [episode] = paid_episodes(6, 1)
    bare = [bl.Step(s.id, s.step, s.state, s.action, s.successor) for s in steps_of(episode)]
    learner.observe_steps(bare)
    assert learner.observed == 1


def test_a_copy_is_free_when_the_last_step_of_its_episode_has_come() -> None:
    learner = make(updater=bl.MultiInstance())
    learner.start(1)
    learner.start(2)
    one, two = paid_episodes(7, 2)
    learner.observe_steps(steps_of(one)[:2])
    learner.start(3)
    assert learner.instances == 3  # neither is free
    learner.observe_steps([*steps_of(two)[1:], *steps_of(one)[2:]])
    learner.start(4)  # by the copy that played episode 1
    assert learner.instances == 3
    counts = [part["counts"]["n"].sum() for part in learner.snapshot()["instances"]]
    assert counts[:3] == [3, 2, 0]
    learner.start(5)
    assert learner.instances == 4
    message = r"^Episode 9 was not started; MultiInstance must know which instance .*\.$"
    unchanged(learner, lambda: learner.observe_steps([bl.Step(9, 0, 0, 0, 0, 0.5)]), message)


# Paths and rewards


def rewards_of(episode: bl.Episode) -> Any:
    assert episode.rewards is not None
    return episode.rewards


def test_a_path_is_used_at_once_and_rewards_when_they_come() -> None:
    learner = make(late="rewards", base=bl.UCRL2(scale=0.05))
    episodes = paid_episodes(9, 12)
    learner.observe_path(episodes)
    n, m = dense_counts(SHAPE, episodes)

    def expected(rewards: Any) -> Any:
        base = bl.UCRL2(scale=0.05, delta=0.025)
        return bl.plan(base, n, m, rewards, episodes=100).q

    hoped = np.ones((H, S, A))
    np.testing.assert_array_equal(planned(learner)["q"].reshape(H, S, A), expected(hoped))
    assert (learner.observed, learner.missing) == (0, 12)
    for episode in episodes[:4]:
        learner.observe_rewards({episode.id: rewards_of(episode)})
    hoped = planned(learner)["rewards"].reshape(H, S, A)
    seen, _ = dense_counts(SHAPE, episodes[:4])
    assert ((hoped < 1) <= (seen > 0)).all()
    assert (hoped < 1).any()
    np.testing.assert_array_equal(planned(learner)["q"].reshape(H, S, A), expected(hoped))
    assert (learner.observed, learner.missing) == (4, 8)


def test_rewards_need_a_path_and_come_once() -> None:
    learner = make(late="rewards")
    learner.start(3)
    one, two = paid_episodes(11, 2)
    learner.observe_path([one, two])
    learner.observe_rewards({1: rewards_of(one), 2: [0.5, NAN, NAN]})
    good = [NAN, 0.5, NAN]

    def refused(rewards: Any, message: str) -> None:
        unchanged(learner, lambda: learner.observe_rewards(rewards), message)

    later = "is not known; call observe_path first"
    refused({2: good, 1: good}, r"^All rewards of episode 1 have been observed already; .* once\.$")
    refused({2: good, 3: good}, rf"^The path of episode 3 {later}\.$")
    refused({2: good, 7: good}, rf"^The path of episode 7 {later}\.$")
    refused({2: [0.5, NAN, NAN]}, r"^Step 0 of episode 2 .* already; .* once\.$")
    refused({2: [0.5, 0.5]}, r"^rewards of episode 2 must have shape \(3,\), .*, got \(2,\)\.$")
    refused({2: 0.5}, r"^rewards of episode 2 must have shape \(3,\), .*, got \(\)\.$")
    refused({2: None}, r"^rewards of episode 2 must have shape \(3,\), .*, got \(\)\.$")
    refused(
        {2: [NAN, 2.0, NAN]}, r"^rewards\[1\] of episode 2 must lie in \[0, 1\], got 2\.0; map "
    )
    refused({2: [NAN, math.inf, NAN]}, r"^rewards\[1\] of episode 2 must lie in \[0, 1\], got ")
    refused(
        {2: ["a", "b", "c"]}, r"^rewards of episode 2 must be a rectangular array of numbers, got"
    )
    refused({-1: good}, r"^id must be at least 0, got -1\.$")
    refused({"2": good}, r"^id must be an integer, got '2'\.$")
    known = r"^The path of episode 2 has been observed already; .* once\.$"
    unchanged(learner, lambda: learner.observe_path([two]), known)
    unchanged(learner, lambda: learner.observe([two]), known)
    unchanged(learner, lambda: learner.observe_steps(steps_of(two)[1:2]), known)
    back = r"^Episode 1 has been observed already; .* once\.$"
    unchanged(learner, lambda: learner.observe_path([one]), back)
    learner.observe_rewards({2: [NAN, 0.5, 0.5]})
    assert (learner.observed, learner.missing) == (2, 1)


def test_a_path_does_not_count_the_steps_of_it_that_came_before() -> None:
    learner = make(late="rewards")
    [episode] = paid_episodes(12, 1)
    learner.observe_steps(steps_of(episode)[:1])
    message = r"^Steps of episode 1 have been observed already; .*\.$"
    unchanged(learner, lambda: learner.observe_path([episode]), message)
    learner.observe_steps(steps_of(episode)[1:])
    assert learner.observed == 1
    assert planned(learner)["n"].sum() == H


@pytest.mark.parametrize("rewards", [None, np.zeros((S, A))], ids=["unknown", "known"])
def test_where_everything_is_late_there_are_no_paths(rewards: Any) -> None:
    learner = make(rewards=rewards)
    episodes = paid_episodes(13, 1)
    unchanged(
        learner,
        lambda: learner.observe_path(episodes),
        r"^observe_path needs a learner with late='rewards'\.$",
    )
    unchanged(
        learner,
        lambda: learner.observe_rewards({1: [0, 0, 0]}),
        r"^observe_rewards needs a learner with late='rewards'\.$",
    )


def test_known_rewards_cannot_be_late() -> None:
    with pytest.raises(ValueError, match=r"^late='rewards' needs unknown rewards, .*\.$"):
        make(rewards=np.zeros((S, A)), late="rewards")


def test_unknown_rewards_must_come_with_an_episode() -> None:
    learner = make()
    bare = bl.Episode(1, [0, 1, 2, 0], [0, 1, 0])
    message = r"^Episode 1 has no rewards; they are unknown, .*\.$"
    unchanged(learner, lambda: learner.observe([bare]), message)


@pytest.mark.parametrize("stages", ["each", "pooled"])
@pytest.mark.parametrize(
    "base",
    [bl.UCRL2(scale=0.05), bl.UCBVI_BF(scale=0.02), EpsilonGreedy(), bl.QLearning(scale=0.01)],
    ids=lambda base: base.name,
)
def test_whole_or_in_pieces_it_comes_to_the_same_policy(base: bl.Base, stages: Any) -> None:
    if base.stepwise and stages == "pooled":
        return
    episodes = paid_episodes(15, 20)
    whole, steps, paths = (
        make(base=base, stages=stages, late=late)
        for late in ("everything", "everything", "rewards")
    )
    for episode in episodes:
        whole.observe([episode])
        for step in steps_of(episode):
            steps.observe_steps([step])
        paths.observe_path([episode])
        for h, reward in enumerate(rewards_of(episode)):
            paths.observe_rewards({episode.id: [reward if i == h else NAN for i in range(H)]})
        assert whole.policy == steps.policy == paths.policy
        assert same(planned(whole), planned(steps))
        assert same(planned(whole), planned(paths))


# Snapshots


def live(learner: bl.Learner, rounds: range) -> list[Any]:
    """Everything a learner shows while episodes begin and come back, in pieces or as a whole."""
    rng = np.random.default_rng(rounds.start)
    late = learner.snapshot()["options"]["late"] == "rewards"
    shown: list[Any] = []
    waiting: list[tuple[int, int]] = []
    for k in rounds:
        policy = learner.start(k)
        [episode] = paid_episodes(k, 1, first=k)
        if late:
            learner.observe_path([episode])
        waiting += [(k, h) for h in range(H)] if late or k % 3 else [(k, H)]
        back = [piece for piece in waiting if rng.random() < 0.3]
        waiting = [piece for piece in waiting if piece not in back]
        for id, h in back:
            [episode] = paid_episodes(id, 1, first=id)
            if late:
                pay = [rewards_of(episode)[i] if i == h else NAN for i in range(H)]
                shown.append(learner.observe_rewards({id: pay}))
            elif h == H:
                shown.append(learner.observe(episode))
            else:
                shown.append(learner.observe_steps([steps_of(episode)[h]]))
        status = learner.status
        shown += [policy.actions, policy.explore, learner.value, learner.policy.actions]
        shown += [learner.epochs, learner.observed, learner.missing, learner.alpha]
        shown += [status.mean_delay, status.psi, status.in_flight, status.exact]
    return shown


SNAPSHOT_BASES = {
    "ucbvi-bf": bl.UCBVI_BF(scale=0.02),
    "kl-ucrl monotone": bl.KL_UCRL(scale=0.1, monotone=True),
    "ucrl2b bonus": bl.UCRL2B(scale=0.05, form="bonus", delta=0.2),
    "ucrl2": bl.UCRL2(scale=0.05, ties="random"),
    "psrl": bl.PSRL(resample="episode"),
    "psrl update": bl.PSRL(resample="update"),
    "q-learning": bl.QLearning(scale=0.01, bonus="bernstein", ties="random"),
    "epsilon-greedy": EpsilonGreedy(epsilon=0.2),
}


SNAPSHOT_UPDATERS: dict[str, Any] = {
    "active": bl.Active(),
    "lazy": bl.Lazy(1),
    "auto": bl.Lazy("auto"),
    "explicit": bl.ExplicitExploration(threshold=4),
    "multi": bl.MultiInstance(),
}


@pytest.mark.parametrize(
    ("base", "updater", "route"), spread(SNAPSHOT_BASES, SNAPSHOT_UPDATERS, ROUTES, one_in=12)
)
@pytest.mark.parametrize("late", ["everything", "rewards"])
def test_a_learner_restored_in_the_middle_goes_on_bit_for_bit(
    late: str, base: bl.Base, updater: Any, route: Callable[[Any], Any]
) -> None:
    learner = make(base=base, updater=updater, late=late, reward_bonus="bernstein", seed=3)
    live(learner, range(1, 16))
    state = learner.snapshot()
    assert any(part["received"] for part in state["pending"]["partial"])
    if base == bl.PSRL(resample="episode") and not isinstance(updater, bl.MultiInstance):
        learner.start(1000)
        state = learner.snapshot()
        assert state["stale"]
    kept = copy.deepcopy(state)
    restored = bl.Learner.restore(route(state))
    assert same(restored.snapshot(), state)
    assert restored.policy == learner.policy
    assert same(live(learner, range(16, 30)), live(restored, range(16, 30)))
    assert same(restored.snapshot(), learner.snapshot())
    # what was saved is still what was saved
    assert same(state, kept)


def test_what_waits_to_be_learnt_is_part_of_a_snapshot() -> None:
    """Lazy(1) learns from the first, the second and the fourth visit; the third waits."""
    learner = make(base=bl.QLearning(scale=0.01), updater=bl.Lazy(1), late="rewards")
    for id in (1, 2, 3, 4):
        learner.observe_path([bl.Episode(id, [0] * (H + 1), [0] * H)])
    for id in (1, 2, 3):
        learner.observe_rewards({id: [id / 4] * H})
    state = learner.snapshot()
    assert state["instances"][0]["own"]["queued"].tolist() == [H]
    restored = bl.Learner.restore(state)
    for each in (learner, restored):
        each.observe_rewards({4: [0.0] * H})
    assert same(restored.snapshot(), learner.snapshot())
    assert restored.snapshot()["instances"][0]["own"]["queued"].tolist() == [0]


# What is missing


def direct(taus: Any, k: int) -> dict[str, Any]:
    """S and the mean delay after the start of episode k, from the delays of episodes 1 .. k."""
    i = np.arange(1, k + 1)
    waited = np.minimum(taus[:k], k - i)
    return {"missing": int((i + taus[:k] >= k).sum()), "mean_delay": waited.sum() / k}


@pytest.mark.parametrize("law", ["geometric:5", "constant:3", "never:0.2:uniform:4", "constant:0"])
def test_the_status_is_what_the_delays_say(law: str) -> None:
    world = random_world(np.random.default_rng(16), SHAPE)
    taus = bl.delays.parse(law).draw(seed=1, episodes=60)
    learner = make(base=bl.UCRL2(delta=0.1))
    away: dict[int, list[bl.Episode]] = {}
    for k in range(1, 61):
        learner.observe(away.pop(k, []))
        policy = learner.start(k)
        away.setdefault(k + int(taus[k - 1]) + 1, []).append(play(world, policy, seed=1, episode=k))
        status = learner.status
        expected = direct(taus, k)
        assert (status.begun, status.observed) == (k, k - expected["missing"])
        assert status.missing == learner.missing == expected["missing"]
        assert status.mean_delay == learner.mean_delay
        assert status.mean_delay == pytest.approx(expected["mean_delay"], abs=1e-12)
        assert status.psi == psi(status.mean_delay, 100, 0.1)
        assert status.exact is False  # the episode that was just begun is out


def test_nothing_begun_is_nothing_missing() -> None:
    status = make().status
    assert (status.begun, status.observed, status.missing, status.mean_delay) == (0, 0, 0, 0.0)
    assert status.exact
    assert (status.in_flight == 0).all()
    assert status.in_flight.shape == (H, S, A)


@pytest.mark.parametrize("stages", ["each", "pooled"])
@pytest.mark.parametrize("late", ["everything", "rewards"])
def test_the_share_in_flight_is_exact_where_paths_are_known_and_else_a_bound(
    late: Any, stages: Any
) -> None:
    world = random_world(np.random.default_rng(17), SHAPE)
    law = bl.delays.geometric(4)
    taus = np.stack([law.draw(seed=2, episodes=40, step=h) for h in range(H)], axis=1)
    learner = make(late=late, stages=stages)
    visits, back = np.zeros((2, H, S, A))
    steps: list[tuple[int, bl.Step]] = []
    tight = 0
    for k in range(1, 41):
        due = [step for arrival, step in steps if arrival < k]
        steps = [(arrival, step) for arrival, step in steps if arrival >= k]
        for step in due:
            back[step.step, step.state, step.action] += 1
            if late == "rewards":
                pay: Any = [step.reward if h == step.step else NAN for h in range(H)]
                learner.observe_rewards({step.id: pay})
            else:
                learner.observe_steps([step])
        episode = play(world, learner.start(k), seed=2, episode=k)
        for step in steps_of(episode):
            visits[step.step, step.state, step.action] += 1
            steps.append((k + int(taus[k - 1, step.step]), step))
        if late == "rewards":
            learner.observe_path([episode])
        total, come = (
            (part.sum(axis=0, keepdims=True) if stages == "pooled" else part)
            for part in (visits, back)
        )
        share = np.where(total > 0, (total - come) / np.maximum(1, total), 0)
        status = learner.status
        assert status.exact is (late == "rewards")
        if status.exact:
            assert status.in_flight == pytest.approx(share, abs=1e-12)
        else:
            assert (status.in_flight >= share - 1e-12).all()
            missing = status.missing * (H if stages == "pooled" else 1)
            assert status.in_flight == pytest.approx(missing / (missing + come), abs=1e-12)
        tight += bool((share > 0).any())
    assert tight > 30
