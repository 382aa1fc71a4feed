"""Rewards in other units than [0, 1]: definition, feedback, learner and reported returns."""

import json
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.ledger import ProblemSpec
from belated.online.learner_factory import build_learner
from service.site import CLINIC, PLAYED, Site
from snapshots import same

RANGE = {"reward_range": [-5, 20]}
REWARDS = [-5, 7.5, 20]


def send(site: Site, content: dict[str, Any], id: str | None = None) -> Any:
    return site.post(f"/v1/episodes/{id or site.open()}/feedback", content)


def fold(site: Site) -> Any:
    """Return the learner of the clinic."""
    problem = site.ledger.problem("clinic")
    assert problem is not None
    return site.host.learners.get(problem).catch_up()


def test_a_reward_outside_0_1_is_rejected_with_a_hint(site: Site) -> None:
    site.define()
    answer = send(site, PLAYED | {"rewards": [0, 0, 7]})
    assert answer.status_code == 422
    assert answer.json()["field"] == "rewards[2]"
    assert answer.json()["message"] == (
        "rewards[2] must lie in [0, 1] unless the problem is defined with a reward_range "
        "[low, high], got 7."
    )
    table = site.post("/v1/problems", {**CLINIC, "name": "x", "rewards": [[0, 7], [0, 0]]})
    assert table.status_code == 422
    assert "reward_range" in table.json()["message"]


def steps(rewards: list[float]) -> dict[str, Any]:
    walk = zip(range(3), PLAYED["states"], PLAYED["actions"], PLAYED["states"][1:], strict=False)
    names = ("step", "state", "action", "next_state")
    rows = [dict(zip(names, row, strict=True)) for row in walk]
    return {"steps": [row | {"reward": rewards[row["step"]]} for row in rows]}


def path_and_rewards(rewards: list[float]) -> dict[str, Any]:
    path = {"states": PLAYED["states"], "actions": PLAYED["actions"]}
    return {"path": path, "rewards": {str(h): reward for h, reward in enumerate(rewards)}}


FORMS = {
    "whole": ({}, lambda rewards: PLAYED | {"rewards": rewards}),
    "steps": ({}, steps),
    "path": ({"late": "rewards"}, path_and_rewards),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_learner_sees_rewards_in_0_1_and_the_history_those_sent(site: Site, form: str) -> None:
    options, content = FORMS[form]
    site.define(**RANGE, **options)
    assert send(site, content(REWARDS)).status_code == 201
    site.host.step()
    site.define("unit", **options)
    assert send(site, content([0, 0.5, 1]), site.open("unit")).status_code == 201
    site.host.step()
    status = [site.get(f"/v1/problems/{name}/history").json() for name in ("clinic", "unit")]
    returns = [one["versions"]["bins"][0]["mean_return"] for one in status]
    assert returns == [pytest.approx(22.5), 1.5]
    unit = site.ledger.problem("unit")
    assert unit is not None
    other = site.host.learners.get(unit).catch_up()
    assert same(fold(site).learner.snapshot(), other.learner.snapshot())


def test_known_rewards_are_given_in_the_same_units(site: Site) -> None:
    site.define(**RANGE, rewards=[[-5, 7.5], [20, 0]])
    assert send(site, {name: PLAYED[name] for name in ("states", "actions")}).status_code == 201
    site.host.step()
    history = site.get("/v1/problems/clinic/history").json()
    assert history["versions"]["bins"][0]["mean_return"] == -10 + 0
    learner = build_learner(ProblemSpec.of({**CLINIC, **RANGE, "rewards": [[-5, 7.5], [20, 0]]}))
    shape = bl.Shape(2, 2, 3)
    by_hand = bl.Learner(
        shape,
        base=bl.UCRL2(delta=0.05, scale=0.1),
        updater=bl.Lazy(10),
        rewards=np.array([[0, 0.5], [1, 0.2]]),
        episodes=1000,
    )
    assert same(learner.snapshot()["instances"], by_hand.snapshot()["instances"])


def test_definitions_and_exports_keep_the_units(site: Site) -> None:
    site.define(**RANGE)
    send(site, PLAYED | {"rewards": REWARDS})
    assert site.get("/v1/problems/clinic").json()["reward_range"] == [-5, 20]
    lines = site.get("/v1/problems/clinic/events").text.splitlines()
    bodies = [json.loads(line)["body"] for line in lines]
    assert bodies[0]["reward_range"] == [-5, 20]
    assert bodies[-1]["rewards"] == REWARDS


def test_a_definition_without_a_range_keeps_its_text(site: Site) -> None:
    site.define()
    assert "reward_range" not in site.get("/v1/problems/clinic").json()
    assert "reward_range" not in site.get("/v1/problems").json()["problems"][0]
    assert "reward_range" not in ProblemSpec.of(CLINIC).text
    assert ProblemSpec.of({**CLINIC, "reward_range": None}) == ProblemSpec.of(CLINIC)
