"""A shop whose episodes end when a customer buys or leaves, on a service that restarts."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.client import NamedPolicy, OpenEpisode
from belated.client.wire import from_dict
from belated.ledger import Ledger
from belated.online.host import Host
from belated.online.verify import verify
from service.site import NDJSON, SHOP, Site
from snapshots import same

STATES, ACTIONS, HORIZON = SHOP["states"], SHOP["actions"], SHOP["horizon"]
HOME = "/v1/problems/shop"
BASES: dict[str, tuple[dict[str, Any], Any]] = {
    "ucrl2": ({"name": "ucrl2", "options": {"scale": 0.1}}, bl.UCRL2(scale=0.1)),
    "epsilon-greedy": (
        {"name": "epsilon-greedy", "options": {"epsilon": 0.25}},
        bl.EpsilonGreedy(epsilon=0.25),
    ),
    "q-learning": ({"name": "q-learning", "options": {"scale": 0.05}}, bl.QLearning(scale=0.05)),
}


def walk(rng: np.random.Generator, episode: OpenEpisode) -> dict[str, Any]:
    """Play an episode with the policy that came with it."""
    states, actions, rewards = ["looks"], [], []
    while len(actions) < HORIZON and states[-1] not in SHOP["terminal"]:
        action = episode.act(len(actions), states[-1])
        assert (states[-1], action) != ("looks", "coupon")
        chances = [0.3, 0.4, 0.2, 0.1] if action == "coupon" else [0.4, 0.3, 0.1, 0.2]
        states.append(STATES[rng.choice(4, p=chances)])
        actions.append(action)
        rewards.append(20.0 * (states[-1] == "sold"))
    return {"states": states, "actions": actions, "rewards": rewards}


def padded(played: dict[str, Any]) -> dict[str, Any]:
    """Return the episode with its last state repeated to the horizon."""
    missing = HORIZON - len(played["actions"])
    return {
        "states": played["states"] + missing * played["states"][-1:],
        "actions": played["actions"] + missing * ["nothing"],
        "rewards": played["rewards"] + missing * [0],
    }


def steps(played: dict[str, Any]) -> list[dict[str, Any]]:
    names = ("step", "state", "action", "next_state", "reward")
    states = played["states"]
    rows = zip(
        range(HORIZON), states[:-1], played["actions"], states[1:], played["rewards"], strict=False
    )
    return [dict(zip(names, row, strict=True)) for row in rows]


def to_step(id: int, step: dict[str, Any]) -> bl.Step:
    return bl.Step(
        id,
        step=step["step"],
        state=STATES.index(step["state"]),
        action=ACTIONS.index(step["action"]),
        successor=STATES.index(step["next_state"]),
        reward=step["reward"] / 20,
    )


def to_episode(id: int, played: dict[str, Any]) -> bl.Episode:
    return bl.Episode(
        id,
        [STATES.index(state) for state in played["states"]],
        [ACTIONS.index(action) for action in played["actions"]],
        np.array(played["rewards"]) / 20,
    )


def open_episode(site: Site) -> OpenEpisode:
    body = site.post(f"{HOME}/episodes").json()
    return OpenEpisode(body["episode"], body["version"], from_dict(NamedPolicy, body["policy"]))


def play(site: Site, rng: np.random.Generator, learner: bl.Learner, round: int) -> None:
    """Play five episodes and send their feedback, to the service and to `learner`."""
    opened = [open_episode(site) for _ in range(5)]
    played = [walk(rng, episode) for episode in opened]
    numbers = [5 * round + i + 1 for i in range(5)]
    for number in numbers:
        learner.start(number)
    if round % 3 == 0:  # in bulk, with and without padding
        lines = [
            {"episode": episode.id, **(padded(one) if i % 2 else one)}
            for i, (episode, one) in enumerate(zip(opened, played, strict=True))
        ]
        text = "\n".join(map(json.dumps, lines))
        answer = site.post(f"{HOME}/feedback", content=text, headers=NDJSON)
        assert [json.loads(line)["status"] for line in answer.text.splitlines()] == [201] * 5
    elif round % 3 == 1:
        for episode, one in zip(opened, played, strict=True):
            assert site.post(f"/v1/episodes/{episode.id}/feedback", one).status_code == 201
    if round % 3 < 2:
        site.host.step()
        learner.observe([to_episode(n, one) for n, one in zip(numbers, played, strict=True)])
        return
    for h in reversed(range(HORIZON)):  # step by step, the last one first
        batch = []
        for number, episode, one in zip(numbers, opened, played, strict=True):
            for step in steps(one)[h : h + 1]:
                sent = site.post(f"/v1/episodes/{episode.id}/feedback", {"steps": [step]})
                assert sent.status_code == 201, sent.text
                batch.append(to_step(number, step))
        site.host.step()
        if batch:
            learner.observe_steps(batch)


@pytest.mark.parametrize("base", BASES)
def test_a_shop_through_a_restart_learns_what_a_learner_by_hand_learns(
    tmp_path: Path, base: str
) -> None:
    given, by_hand = BASES[base]
    store, rng = f"sqlite:///{tmp_path / 'ledger.db'}", np.random.default_rng(5)
    learner = bl.Learner(
        bl.Shape(4, 2, HORIZON, terminal=[2, 3], allowed={0: [0]}),
        base=by_hand,
        updater=bl.Active(),
        rewards=None,
        episodes=1000,
    )
    for life in range(3):
        with Ledger.open(store) as ledger, Site(ledger) as site:
            expected = 201 if life == 0 else 200
            assert site.post("/v1/problems", {**SHOP, "base": given}).status_code == expected
            site.host.step()
            for round in range(3 * life, 3 * life + 3):
                play(site, rng, learner, round)
            problem = ledger.problem("shop")
            assert problem is not None
            fold = site.host.learners.get(problem).catch_up()
            assert (len(fold.in_flight), learner.observed) == (0, 15 * (life + 1))
            assert same(fold.learner.snapshot(), learner.snapshot())
            assert verify(ledger, problem).faults == []
            assert ledger.faults() == []
        with Ledger.open(store) as ledger:  # the next life starts with a snapshot
            host = Host(ledger, snapshot_every=1)
            host.step()
            host.stop()
    served = fold.policy
    assert (served.actions[:, 0] == 0).all()


@pytest.fixture
def shop(site: Site) -> Site:
    answer = site.post("/v1/problems", SHOP)
    assert answer.status_code == 201, answer.text
    return site


def test_padding_without_terminal_states_is_warned_of_once(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    plain = {name: SHOP[name] for name in SHOP if name not in ("terminal", "allowed")}
    assert site.post("/v1/problems", plain).status_code == 201
    ended = padded({"states": ["looks", "gone"], "actions": ["nothing"], "rewards": [0]})
    for _ in range(30):
        assert site.post(f"/v1/episodes/{site.open('shop')}/feedback", ended).status_code == 201
        site.host.step()
    [message] = [text for text in caplog.messages if "repeat" in text]
    assert message.startswith("Problem shop: episodes repeat one state to the end (gone), and none")


def test_the_definition_keeps_its_restrictions(shop: Site) -> None:
    problem = shop.get(HOME).json()
    assert problem["terminal"] == ["sold", "gone"]
    assert problem["allowed"] == {"looks": ["nothing"]}
    assert shop.post("/v1/problems", problem).status_code == 200


def test_a_policy_has_no_action_in_a_terminal_state(shop: Site) -> None:
    policy = shop.get(f"{HOME}/policy").json()
    assert policy["terminal"] == ["sold", "gone"]
    assert policy["allowed"] == [{"looks": ["nothing"]}] * HORIZON
    for plan in policy["plan"]:
        assert (plan["looks"], plan["sold"], plan["gone"]) == ("nothing", None, None)
    table = str(from_dict(NamedPolicy, policy)).splitlines()
    assert table[4].split() == ["sold", "-"]
    assert table[-1] == "Terminal: sold, gone"


def test_there_is_no_decision_in_a_terminal_state(shop: Site) -> None:
    answer = shop.post(f"{HOME}/decide", {"state": "gone", "step": 3})
    assert answer.status_code == 422
    assert answer.json()["message"] == (
        "state must not be terminal, got 'gone'; the episode has ended."
    )
    policy = from_dict(NamedPolicy, shop.get(f"{HOME}/policy").json())
    with pytest.raises(ValueError, match=r"state must not be terminal, got 'sold'"):
        policy.act(0, "sold")


def test_random_decisions_are_among_the_allowed_actions(site: Site) -> None:
    three = {**SHOP, "actions": ["nothing", "coupon", "call"]}
    base = {"name": "epsilon-greedy", "options": {"epsilon": 1.0}}
    allowed = {"looks": ["nothing", "call"]}
    assert site.post("/v1/problems", {**three, "base": base, "allowed": allowed}).status_code == 201
    site.host.step()
    seen = set()
    for _ in range(12):
        episode = open_episode(site)
        for step in range(HORIZON):
            body = {"state": "looks", "step": step, "episode": episode.id}
            action = site.post(f"{HOME}/decide", body).json()["action"]
            assert action == episode.act(step, "looks")
            seen.add(action)
    assert seen == {"nothing", "call"}
