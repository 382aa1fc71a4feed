"""One simulated run, played over HTTP, gives the policies of the simulation to the bit.

Late as in the simulation, shuffled within a tick, with repeats, one by one and in bulk.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

import belated as bl
from belated.episode import Policy
from belated.learner.bases.base import Base
from belated.learner.updaters import Updater
from belated.mdp.play import play
from belated.online.verify import verify
from belated.simulation.reference import traced_actions
from belated.simulation.simulation import draw_delays
from combinations import spread
from online.conftest import ledger, postgres, postgres_url, sqlite_url, url
from random_problems import puzzling_world
from service.site import NDJSON, Site

# tests of this file run with both databases
__all__ = ["ledger", "postgres", "postgres_url", "sqlite_url", "url"]

EPISODES = 14
SEED = 11
DELAY = bl.delays.geometric(4)
SHAPE = bl.Shape(3, 2, 3)
STATES = ["ill", "weak", "well"]
ACTIONS = ["wait", "treat"]
HOME = "/v1/problems/world"
DATABASES = {"sqlite": "sqlite", "postgres": "postgres"}


class Case(NamedTuple):
    """A simulation, and the same setting as a problem."""

    base: Base
    updater: Updater
    words: dict[str, Any]
    rewards: str | None = "known"
    delay_per: str = "episode"
    late: str = "everything"

    @property
    def way(self) -> dict[str, Any]:
        """Whether rewards are known, and which feedback is late."""
        return {"rewards": self.rewards, "delay_per": self.delay_per, "late": self.late}


def words(base: str, updater: str, *, updating: Any = None, **planning: Any) -> dict[str, Any]:
    return {
        "base": {"name": base, "options": planning},
        "updater": {"name": updater, "options": updating or {}},
    }


CASES = {
    "active, known": Case(bl.UCRL2(scale=0.1), bl.Active(), words("ucrl2", "active", scale=0.1)),
    "lazy, known, by step": Case(
        bl.UCRL2(scale=0.1),
        bl.Lazy(2),
        words("ucrl2", "lazy", scale=0.1, updating={"alpha": 2}),
        delay_per="step",
    ),
    "explicit, unknown": Case(
        bl.UBEV(scale=0.02, ties="random"),
        bl.ExplicitExploration(threshold=4),
        words("ubev", "explicit", scale=0.02, ties="random", updating={"threshold": 4}),
        rewards=None,
    ),
    "active, unknown, by step": Case(
        bl.PSRL(prior=0.3, resample="update"),
        bl.Active(),
        words("psrl", "active", prior=0.3),
        rewards=None,
        delay_per="step",
    ),
    "lazy, late rewards": Case(
        bl.UBEV(scale=0.02, ties="random"),
        bl.Lazy("auto"),
        words("ubev", "lazy", scale=0.02, ties="random", updating={"alpha": "auto"}),
        rewards=None,
        late="rewards",
    ),
    "explicit, late rewards, by step": Case(
        bl.UCRL2(scale=0.1),
        bl.ExplicitExploration(threshold=4),
        words("ucrl2", "explicit", scale=0.1, updating={"threshold": 4}),
        rewards=None,
        delay_per="step",
        late="rewards",
    ),
}


class Piece(NamedTuple):
    """A piece of feedback, by name and by index."""

    episode: str
    spellings: tuple[dict[str, Any], dict[str, Any]]


def path_of(episode: bl.Episode, states: Sequence[Any], actions: Sequence[Any]) -> dict[str, Any]:
    return {
        "states": [states[s] for s in episode.states],
        "actions": [actions[a] for a in episode.actions],
    }


def returning(
    episode: bl.Episode, case: Case, states: Sequence[Any], actions: Sequence[Any]
) -> Iterator[dict[str, Any]]:
    """Return the feedback of an episode: one piece, or one for each step with its own delay."""
    assert episode.rewards is not None
    rewards, steps = episode.rewards.tolist(), range(SHAPE.horizon)
    path = path_of(episode, states, actions)
    parts = [[h] for h in steps] if case.delay_per == "step" else [list(steps)]
    if case.late == "rewards":
        yield from ({"rewards": {str(h): rewards[h] for h in part}} for part in parts)
    elif case.delay_per == "step":
        for h in steps:
            step = {"step": h, "state": path["states"][h], "action": path["actions"][h]}
            yield {"steps": [{**step, "next_state": path["states"][h + 1], "reward": rewards[h]}]}
    else:
        yield {**path, "rewards": rewards}


class Player:
    """Client that plays the episodes of a simulation over HTTP."""

    def __init__(self, site: Site, world: bl.MDP, case: Case) -> None:
        self.site = site
        self.world = world
        self.case = case
        self.rng = np.random.default_rng(SEED)
        pieces = SHAPE.horizon if case.delay_per == "step" else 1
        self.delays = draw_delays(
            DELAY, SEED, EPISODES, pieces=pieces, on_progress=lambda count: None
        )
        self.due_at: dict[int, list[Piece]] = defaultdict(list)
        self.before: list[Piece] = []

    def tick(self, k: int) -> None:
        """Send feedback that is due, repeat some of it, and step the host."""
        due = self.due_at.pop(k, [])
        repeats = [one for one in self.before + due if self.rng.random() < 0.3]
        pieces = [*due, *repeats]
        order = self.rng.permutation(len(pieces))
        cut = int(self.rng.integers(len(pieces) + 1))
        statuses = self.send_bulk([pieces[i] for i in order[:cut]])
        statuses += self.send_alone([pieces[i] for i in order[cut:]])
        assert sorted(statuses) == [200] * len(repeats) + [201] * len(due)
        self.before += due
        assert self.site.host.step()

    def send_alone(self, pieces: list[Piece]) -> list[int]:
        """Send each in its own request, concurrently; return the statuses."""
        requests = [
            self.site.asking("POST", f"/v1/episodes/{one.episode}/feedback", json=self.spelt(one))
            for one in pieces
        ]
        return [answer.status_code for answer in self.site.ask_together(requests)]

    def send_bulk(self, pieces: list[Piece]) -> list[int]:
        """Send all in one bulk request; return the statuses."""
        lines = [json.dumps({"episode": one.episode, **self.spelt(one)}) for one in pieces]
        answer = self.site.post(f"{HOME}/feedback", content="\n".join(lines), headers=NDJSON)
        return [json.loads(line)["status"] for line in answer.text.splitlines()]

    def spelt(self, piece: Piece) -> dict[str, Any]:
        return piece.spellings[int(self.rng.integers(2))]

    def play(self, k: int) -> Any:
        """Play an episode with the policy in the response; return that policy."""
        answer = self.site.post(f"{HOME}/episodes")
        assert answer.status_code == 201, answer.text
        id, said = answer.json()["episode"], answer.json()["policy"]
        episode = play(self.world, policy_of(said), seed=SEED, episode=k)
        spellings = (STATES, ACTIONS), (range(len(STATES)), range(len(ACTIONS)))
        if self.case.late == "rewards":
            named, numbered = ({"path": path_of(episode, *one)} for one in spellings)
            self.due_at[k + 1].append(Piece(id, (named, numbered)))
        forms = (returning(episode, self.case, *one) for one in spellings)
        for both, delay in zip(zip(*forms, strict=True), self.delays[k - 1].tolist(), strict=True):
            self.due_at[k + delay + 1].append(Piece(id, both))
        return said


def policy_of(said: dict[str, Any]) -> Policy:
    """Return the policy in a response."""
    actions = [[ACTIONS.index(row[state]) for state in STATES] for row in said["plan"]]
    explore = [
        [[action in row.get(state, ()) for action in ACTIONS] for state in STATES]
        for row in said["explore"]
    ]
    return Policy(np.array(actions, np.int32), np.array(explore, np.bool_), said["epsilon"])


@pytest.mark.parametrize(("url", "case"), spread(DATABASES, CASES, one_in=2), indirect=["url"])
def test_over_http_the_policies_of_the_simulation_are_served(site: Site, case: Case) -> None:
    world = puzzling_world(np.random.default_rng(SEED), SHAPE)
    run = bl.simulate(
        world,
        base=case.base,
        updater=case.updater,
        delay=DELAY,
        episodes=EPISODES,
        seed=SEED,
        trace=True,
        **case.way,
    )
    assert run.policies is not None
    assert len(np.unique(run.policies, axis=0)) > 1
    known = None if case.rewards is None else world.reward_table().tolist()
    spec = {"states": STATES, "actions": ACTIONS, "horizon": SHAPE.horizon, "rewards": known}
    more = {"episodes": EPISODES, "late": case.late, "seed": SEED}
    site.define("world", **spec, **more, **case.words)

    player = Player(site, world, case)
    for k in range(1, EPISODES + 1):
        player.tick(k)
        said = site.get(f"{HOME}/policy").json()
        assert np.array_equal(traced_actions(policy_of(said)), run.policies[k - 1])
        assert player.play(k) == said
    assert verify(site.ledger, site.ledger.problems()[0]).sound
