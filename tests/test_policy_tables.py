"""A policy that the client received prints as a table."""

from typing import Any

from belated.client import NamedPolicy


def policy(**changes: Any) -> NamedPolicy:
    given: dict[str, Any] = {
        "problem": "shop",
        "version": 3,
        "horizon": 3,
        "actions": ["nothing", "coupon"],
        "plan": [
            {"looks": "coupon", "buys": "nothing"},
            {"looks": "coupon", "buys": "nothing"},
            {"looks": "nothing", "buys": "nothing"},
        ],
        "explore": [{}, {}, {}],
        "epsilon": 0.0,
        "sha": "0",
    }
    return NamedPolicy(**{**given, **changes})


def test_steps_with_the_same_actions_share_a_column() -> None:
    assert str(policy()).splitlines() == [
        "Policy of shop, version 3",
        "state  steps 0-1  step 2",
        "looks  coupon     nothing",
        "buys   nothing    nothing",
    ]


def test_random_actions_are_shown() -> None:
    drawn = policy(explore=[{"buys": ["nothing", "coupon"]}, {}, {}], epsilon=0.1)
    assert str(drawn).splitlines() == [
        "Policy of shop, version 3",
        "state  step 0          step 1   step 2",
        "looks  coupon          coupon   nothing",
        "buys   nothing|coupon  nothing  nothing",
        "With probability 0.1, a random action instead.",
    ]


def test_of_a_large_policy_the_beginning_is_shown() -> None:
    plan = [{f"bed {s}": f"action {(s + h) % 7}" for s in range(700)} for h in range(50)]
    lines = str(policy(horizon=50, plan=plan, explore=[{}] * 50)).splitlines()
    assert len(lines) == 43
    assert max(map(len, lines)) <= 105
    assert lines[1].endswith("step 8    ...")
    assert lines[-1] == "... and 660 more states"


def test_the_table_does_not_replace_the_short_form() -> None:
    assert repr(policy()).startswith("NamedPolicy(problem='shop', version=3, horizon=3,")
