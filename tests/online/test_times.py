"""Ages and schedules in seconds: a host ends a batch when the time has come."""

from typing import Any

import numpy as np
import pytest

from belated.ledger import Control, Feedback, Ledger, Opened, Part, ProblemSpec, Recorded
from belated.online.fold import Fold
from belated.online.host import Host
from belated.online.served_version import Serving
from belated.online.snapshot_codec import decode_state, encode_state
from belated.online.verify import verify
from histories import anything, make_spec
from snapshots import same

SECOND = 1_000_000
START = 1_000_000_000 * SECOND


class Clinic:
    """A problem with a host, on a clock that the test sets."""

    def __init__(self, ledger: Ledger, updater: Part, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ledger = ledger
        self.now = START
        monkeypatch.setattr(ledger.store, "now", lambda: self.now)
        self.spec = make_spec(updater=updater)
        defined = ledger.define(self.spec)
        assert isinstance(defined, Recorded)
        self.id = defined.seq
        self.host, self.serving = Host(ledger), Serving(ledger)
        self.step()

    def step(self) -> None:
        assert self.host.step()

    def open(self, version: int | None = None, *, event_time: int | None = None) -> str:
        served = self.serving.served(self.id)
        assert served is not None
        event = Opened(self.id, version or served.version, event_time=event_time)
        (opened,) = self.ledger.append([event])
        assert isinstance(opened, Recorded)
        assert opened.episode is not None
        return opened.episode.id

    def answer(self, *ids: str) -> None:
        rng = np.random.default_rng(len(ids))
        self.ledger.append([Feedback(id, anything(rng)) for id in ids])
        self.step()

    def fold(self) -> Fold:
        """Return the fold of all events from nothing, which must be that of any snapshot."""
        fold = Fold(self.spec)
        for event in self.ledger.events(self.id):
            fold.apply(event)
            state = decode_state(encode_state(fold.snapshot()))
            assert same(Fold.restore(self.spec, state).snapshot(), fold.snapshot())
            fold = Fold.restore(self.spec, state)
        return fold

    @property
    def plans(self) -> int:
        return self.fold().learner.epochs

    def check(self) -> None:
        problem = self.ledger.problem(self.id)
        assert problem is not None
        assert verify(self.ledger, problem).sound


def test_an_age_in_seconds_is_reached_without_new_feedback(
    memory: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"updater": "active", "age": 60, "unit": "seconds"}
    clinic = Clinic(memory, Part("matured", options), monkeypatch)
    earlier = clinic.open(event_time=START - 20 * SECOND)
    clinic.answer(earlier)
    assert (clinic.plans, clinic.fold().due_at) == (1, START + 40 * SECOND)
    clinic.now += 40 * SECOND - 1
    last = memory.last
    clinic.step()
    assert memory.last == last  # no tick before the time
    clinic.now += 1
    clinic.step()
    assert (clinic.plans, clinic.fold().due_at) == (2, None)
    assert clinic.fold().learner.observed == 1
    clinic.step()
    assert clinic.plans == 2
    clinic.check()


def test_a_schedule_plans_at_set_times_if_feedback_has_arrived(
    memory: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"every": 3600, "unit": "seconds"}
    clinic = Clinic(memory, Part("scheduled", options), monkeypatch)
    hour = (START // (3600 * SECOND) + 1) * 3600 * SECOND
    clinic.answer(clinic.open())
    assert (clinic.plans, clinic.fold().due_at) == (1, hour)
    clinic.now = hour - 1
    clinic.answer(clinic.open())
    assert clinic.plans == 1
    clinic.now = hour
    clinic.host.stop()
    clinic.host = Host(memory)  # which knows nothing of the schedule
    clinic.step()
    assert (clinic.plans, clinic.fold().due_at) == (2, None)
    clinic.check()


def test_only_episodes_of_the_current_version_end_a_batch(
    memory: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    clinic = Clinic(memory, Part("batched", {"grid": [1, 2]}), monkeypatch)
    clinic.answer(clinic.open())
    assert clinic.plans == 2
    newest = clinic.serving.served(clinic.id)
    assert newest is not None
    assert newest.version == 2
    memory.append([Control(clinic.id, "roll_back", version=1)])
    clinic.answer(*[clinic.open() for _ in range(4)])  # of version 1
    assert clinic.plans == 2
    memory.append([Control(clinic.id, "unfreeze")])
    clinic.answer(*[clinic.open() for _ in range(2)])
    assert clinic.plans == 3
    clinic.check()


@pytest.mark.parametrize(
    "inner", ["my_module:Mine", "os:getcwd", 7, "matured:3:os:getcwd", "multi"]
)
def test_a_problem_names_only_built_in_updaters_in_matured(inner: Any, memory: Ledger) -> None:
    from belated.online.learner_factory import build_updater

    spec: ProblemSpec = make_spec(updater=Part("matured", {"updater": inner, "age": 3}))
    with pytest.raises((ValueError, TypeError), match=r"updater.*\.$"):
        build_updater(spec)
