"""One simulated run, delivered to a host, gives the policies of the simulation to the bit.

Late as in the simulation, shuffled within a tick, with repeats, and with hosts that come and go.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.learner.bases.base import Base
from belated.learner.updaters import Updater
from belated.ledger import AlreadyRecorded, Feedback, Ledger, Opened, Part, ProblemSpec, Recorded
from belated.mdp.play import play
from belated.online.host import Host
from belated.online.served_version import Serving
from belated.online.verify import verify
from belated.simulation.reference import traced_actions
from belated.simulation.simulation import draw_delays
from combinations import chosen
from random_problems import puzzling_world

EPISODES = 18
BASES: dict[str, tuple[Base, Part]] = {
    "ucrl2": (bl.UCRL2(scale=0.1), Part("ucrl2", {"scale": 0.1})),
    "ubev": (
        bl.UBEV(scale=0.02, ties="random"),
        Part("ubev", {"scale": 0.02, "ties": "random"}),
    ),
    "psrl": (bl.PSRL(prior=0.3, resample="update"), Part("psrl", {"prior": 0.3})),
    "rlsvi": (bl.RLSVI(0.1, resample="update"), Part("rlsvi", {"scale": 0.1})),
}
UPDATERS: dict[str, tuple[Updater, Part]] = {
    "active": (bl.Active(), Part("active")),
    "lazy": (bl.Lazy(2), Part("lazy", {"alpha": 2})),
    "lazy auto": (bl.Lazy("auto"), Part("lazy", {"alpha": "auto"})),
    "explicit": (bl.ExplicitExploration(threshold=4), Part("explicit", {"threshold": 4})),
    "batched": (bl.Batched(), Part("batched")),
}
WAYS: dict[str, dict[str, Any]] = {
    "known": {},
    "known by step": {"delay_per": "step"},
    "unknown": {"rewards": None},
    "unknown by step": {"rewards": None, "delay_per": "step"},
    "late rewards": {"rewards": None, "late": "rewards"},
    "late rewards by step": {"rewards": None, "late": "rewards", "delay_per": "step"},
}
SEED = 11
DELAY = bl.delays.geometric(4)


def spec_of(world: bl.MDP, base: Part, updater: Part, way: dict[str, Any]) -> ProblemSpec:
    H, S, A = world.shape.table
    return ProblemSpec(
        name="world",
        states=[str(s) for s in range(S)],
        actions=[str(a) for a in range(A)],
        horizon=H,
        rewards=world.reward_table() if way.get("rewards", "known") == "known" else None,
        base=base,
        updater=updater,
        episodes=EPISODES,
        late=way.get("late", "everything"),
        seed=SEED,
    )


def sent(episode: bl.Episode, way: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Return the late feedback of an episode: whole, or step by step."""
    states, actions = episode.states.tolist(), episode.actions.tolist()
    assert episode.rewards is not None
    rewards = episode.rewards.tolist()
    by_step = way.get("delay_per") == "step"
    if "late" in way:
        steps = [[h] for h in range(len(actions))] if by_step else [range(len(actions))]
        yield from ({"rewards": {h: rewards[h] for h in some}} for some in steps)
    elif by_step:
        for h, action in enumerate(actions):
            step = {"step": h, "state": states[h], "action": action, "next_state": states[h + 1]}
            yield {"steps": [{**step, "reward": rewards[h]}]}
    else:
        yield {"states": states, "actions": actions, "rewards": rewards}


def deliver(
    ledger: Ledger, spec: ProblemSpec, world: bl.MDP, way: dict[str, Any], *, shuffle: bool
) -> list[Any]:
    """The policy of each episode, as it was served."""
    rng = np.random.default_rng(SEED)
    pieces = world.shape.horizon if way.get("delay_per") == "step" else 1
    delays = draw_delays(DELAY, SEED, EPISODES, pieces=pieces, on_progress=lambda _: None)
    defined = ledger.define(spec)
    assert isinstance(defined, Recorded)
    host, serving = Host(ledger, snapshot_every=40), Serving(ledger)
    due_at: dict[int, list[Feedback]] = defaultdict(list)
    before: list[Feedback] = []
    played = []
    for k in range(1, EPISODES + 1):
        due = due_at.pop(k, [])
        repeats = [one for one in before + due if rng.random() < 0.3]
        batch = due + repeats
        if shuffle:
            rng.shuffle(batch)
        outcomes = ledger.append(batch)
        assert [type(one) for one in outcomes].count(Recorded) == len(due)
        assert [type(one) for one in outcomes].count(AlreadyRecorded) == len(repeats)
        before += due
        if k % 7 == 0:
            host.stop()
            host = Host(ledger, snapshot_every=40)
        assert host.step()

        served = serving.served(defined.seq)
        assert served is not None
        played.append(traced_actions(served.policy))
        (opened,) = ledger.append([Opened(defined.seq, served.version)])
        assert isinstance(opened, Recorded)
        assert opened.episode is not None
        episode = play(world, served.policy, seed=SEED, episode=k)
        id = opened.episode.id
        if "late" in way:
            path = {"states": episode.states.tolist(), "actions": episode.actions.tolist()}
            due_at[k + 1].append(Feedback(id, {"path": path}))
        for content, delay in zip(sent(episode, way), delays[k - 1].tolist(), strict=True):
            due_at[k + delay + 1].append(Feedback(id, content))
    host.stop()
    return played


every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())


def check(
    ledger: Ledger,
    base: tuple[Base, Part],
    updater: tuple[Updater, Part],
    way: dict[str, Any],
    *,
    shuffle: bool = True,
) -> None:
    world = puzzling_world(np.random.default_rng(SEED), bl.Shape(3, 2, 3))
    run = bl.simulate(
        world,
        base=base[0],
        updater=updater[0],
        delay=DELAY,
        episodes=EPISODES,
        seed=SEED,
        trace=True,
        engine="reference",
        **way,
    )
    spec = spec_of(world, base[1], updater[1], way)
    played = deliver(ledger, spec, world, way, shuffle=shuffle)
    assert run.policies is not None
    assert len(np.unique(run.policies, axis=0)) > 1
    assert np.array_equal(np.array(played), run.policies)
    assert verify(ledger, ledger.problems()[0]).sound


@pytest.mark.parametrize(
    ("base", "updater", "way"),
    [
        pytest.param(BASES[base], UPDATERS[updater], WAYS[way], id=f"{base}-{updater}-{way}")
        for i, base in enumerate(BASES)
        for j, updater in enumerate(UPDATERS)
        for k, way in enumerate(WAYS)
        if chosen(i, j, k, one_in=6)
    ],
)
def test_a_host_serves_the_policies_of_the_simulation(
    memory: Ledger, base: tuple[Base, Part], updater: tuple[Updater, Part], way: dict[str, Any]
) -> None:
    check(memory, base, updater, way)


@every_way
def test_what_is_learnt_step_by_step_is_the_same_in_the_same_order(
    memory: Ledger, way: dict[str, Any]
) -> None:
    base = bl.QLearning(scale=0.05), Part("q-learning", {"scale": 0.05})
    check(memory, base, UPDATERS["active"], way, shuffle=False)


def test_a_schedule_of_arrivals_is_that_of_the_simulation(memory: Ledger) -> None:
    """Test whole episodes only: the service may join pieces that arrive together."""
    updater = bl.Scheduled(3, "arrivals"), Part("scheduled", {"every": 3, "unit": "arrivals"})
    check(memory, BASES["psrl"], updater, WAYS["unknown"])


def test_it_is_the_same_on_any_database(ledger: Ledger) -> None:
    check(ledger, BASES["ubev"], UPDATERS["lazy auto"], WAYS["late rewards by step"])
