"""Serving: which version is played, by what was published and what people decided."""

import numpy as np
import pytest

import belated as bl
from belated.ledger import Ledger, Recorded
from belated.online.served_version import Serving
from histories import H, History, S, make_spec


@pytest.fixture
def history(memory: Ledger) -> History:
    return History(memory, make_spec())


def publish(history: History, version: int) -> None:
    policy = np.full((H, S), version % 2, np.int32)
    outcome = history.ledger.publish(history.problem, bl.Policy(policy), version=version)
    assert isinstance(outcome, Recorded)


def tell(history: History, story: str) -> list[int]:
    """Return the version served after each word: a number publishes, "back:2" rolls back."""
    serving = Serving(history.ledger)
    served = []
    for word in story.split():
        if word.isdecimal():
            publish(history, int(word))
        elif word.startswith("back:"):
            history.ledger.control(history.problem, "roll_back", version=int(word[5:]))
        else:
            history.ledger.control(history.problem, word)  # type: ignore[arg-type]
        now = serving.served(history.problem)
        served.append(0 if now is None else now.version)
        # one who asks for the first time is told the same
        assert serving.state(history.problem) == Serving(history.ledger).state(history.problem)
    return served


@pytest.mark.parametrize(
    ("story", "served"),
    [
        ("1 2 3", [1, 2, 3]),
        ("1 freeze 2 3 unfreeze 4", [1, 1, 1, 1, 3, 4]),
        ("1 freeze 2 freeze 3 unfreeze", [1, 1, 1, 1, 1, 3]),
        ("1 2 3 back:2 4 unfreeze 5", [1, 2, 3, 2, 2, 4, 5]),
        ("1 2 3 back:2 back:1 unfreeze", [1, 2, 3, 2, 1, 3]),
        ("1 2 freeze back:1 freeze unfreeze", [1, 2, 2, 1, 1, 2]),
        ("1 shadow_on 2 3 shadow_off 4", [1, 1, 1, 1, 3, 4]),
        ("1 shadow_on 2 shadow_on 3 shadow_off", [1, 1, 1, 1, 1, 3]),
        ("1 2 shadow_on 3 back:1 4 unfreeze shadow_off", [1, 2, 2, 2, 1, 1, 2, 4]),
        ("1 freeze 2 shadow_on 3 unfreeze shadow_off", [1, 1, 1, 1, 1, 1, 3]),
        ("1 shadow_on 2 freeze shadow_off 3 unfreeze", [1, 1, 1, 1, 1, 1, 3]),
        ("freeze 1 2 unfreeze", [0, 1, 1, 2]),
        ("shadow_on 1 2 shadow_off", [0, 1, 1, 2]),
        ("unfreeze shadow_off 1", [0, 0, 1]),
    ],
)
def test_what_is_served_follows_from_what_was_decided(
    history: History, story: str, served: list[int]
) -> None:
    assert tell(history, story) == served


def test_the_policy_is_the_one_that_was_published(history: History) -> None:
    serving = Serving(history.ledger)
    assert serving.served(history.problem) is None
    for version in (1, 2):
        publish(history, version)
        served = serving.served(history.problem)
        assert served is not None
        assert served.policy.actions.tolist() == [[version % 2] * S] * H
        assert serving.policy(history.problem, version) is served.policy
    assert serving.policy(history.problem, 3) is None


def test_a_problem_is_served_whatever_happens_to_another(memory: Ledger) -> None:
    one, other = (History(memory, make_spec(name)) for name in ("one", "other"))
    tell(one, "1 2 freeze 3")
    tell(other, "1 2")
    serving = Serving(memory)
    assert [serving.state(history.problem).version for history in (one, other)] == [2, 2]
    assert serving.state(one.problem).newest == 3


def test_any_ledger_of_the_database_serves_the_same(url: str) -> None:
    with Ledger.open(url) as ledger, Ledger.open(url) as elsewhere:
        history = History(ledger, make_spec())
        serving = Serving(elsewhere)
        publish(history, 1)
        publish(history, 2)
        ledger.control(history.problem, "roll_back", version=1)
        served = serving.served(history.problem)
        assert served is not None
        assert served.version == 1
        ledger.control(history.problem, "unfreeze")
        assert serving.state(history.problem).version == 2
