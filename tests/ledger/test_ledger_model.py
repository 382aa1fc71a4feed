"""The ledger does what a plain list in memory would do, whatever comes in whatever order."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import ledger_samples as samples
from belated.ledger import Corrected, Feedback, Ledger, Opened, Published, Recorded, Tick, Withdrawn
from combinations import FULL
from ledger.model import Model

FEW = st.integers(0, 2)
SUBJECTS = st.sampled_from([None, "Ann", "Bob"])
STEPS = st.sets(st.integers(0, samples.H - 1), min_size=1)


@st.composite
def contents(draw: Any, late: str) -> dict[str, Any]:
    """Feedback, from so few episodes that much of it repeats or contradicts something."""
    number = draw(FEW)
    forms = ["whole", "steps"] if late == "everything" else ["whole", "steps", "path", "rewards"]
    form = draw(st.sampled_from(forms))
    if form == "whole":
        return samples.whole(number)
    steps = sorted(draw(STEPS))
    if form == "steps":
        return {"steps": [samples.step(h, number) for h in steps]}
    body: dict[str, Any] = {"path": samples.path(number)} if form == "path" else {}
    if form == "rewards" or draw(st.booleans()):
        rewards = samples.whole(number)["rewards"]
        body["rewards"] = {str(h): rewards[h] for h in steps}
    return body


class LedgerMachine(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.ledger = Ledger.open("sqlite://")
        self.model = Model()
        self.made = 0
        for name, late in (("one", "everything"), ("two", "rewards")):
            self.define(name, late)
            self.publish(len(self.model.specs) - 1, version=1, policy=0)

    def teardown(self) -> None:
        self.ledger.close()

    def agree(self, events: list[Any], expected: list[str]) -> None:
        outcomes = self.ledger.append(events)
        assert [type(outcome).__name__ for outcome in outcomes] == expected
        for outcome in outcomes:
            if isinstance(outcome, Recorded):
                assert 1 <= outcome.seq <= len(self.model.log)

    def fresh(self) -> str:
        """An id that no episode has."""
        self.made += 1
        return f"episode-{self.made:016}"

    def problem(self, index: int) -> int:
        return list(self.model.specs)[index % len(self.model.specs)]

    def episode(self, data: st.DataObject) -> str:
        known = [*self.model.episodes, self.fresh()]
        return known[data.draw(st.integers(0, len(known) - 1), label="episode")]

    @rule(name=st.sampled_from(["one", "three"]), late=st.sampled_from(["everything", "rewards"]))
    def define(self, name: str, late: Any) -> None:
        spec = samples.spec(name, late=late)
        expected = self.model.define(spec)
        assert type(self.ledger.define(spec)).__name__ == expected

    @rule(index=FEW, version=st.integers(1, 4), policy=FEW)
    def publish(self, index: int, version: int, policy: int) -> None:
        event = Published(self.problem(index), version, samples.policy(policy))
        self.agree([event], [self.model.publish(event, policy)])

    @rule(index=FEW, version=st.integers(1, 2), subject=SUBJECTS, count=st.integers(1, 3))
    def open(self, index: int, version: int, subject: str | None, count: int) -> None:
        problem = self.problem(index)
        events = [Opened(problem, version, subject, self.fresh()) for _ in range(count)]
        self.agree(events, [self.model.open(event) for event in events])

    @rule(index=FEW, subject=SUBJECTS, data=st.data())
    def open_again(self, index: int, subject: str | None, data: st.DataObject) -> None:
        event = Opened(self.problem(index), 1, subject, self.episode(data))
        self.agree([event], [self.model.open(event)])

    def told(self, data: st.DataObject) -> Feedback:
        """Feedback or a correction, of one episode or another."""
        id = self.episode(data)
        known = self.model.episodes.get(id)
        late = self.model.specs[known["problem"]].late if known else "everything"
        if data.draw(st.integers(0, 4)) == 0:
            time = data.draw(st.sampled_from([None, 1]))
            return Corrected(id, samples.whole(data.draw(FEW)), event_time=time)
        return Feedback(id, data.draw(contents(late), label="content"))

    @rule(data=st.data(), size=st.integers(1, 5))
    def hear(self, data: st.DataObject, size: int) -> None:
        events = [self.told(data) for _ in range(size)]
        self.agree(events, [self.model.hear(event) for event in events])

    @rule(data=st.data())
    def hear_twice(self, data: st.DataObject) -> None:
        events = [self.told(data)] * 2
        self.agree(events, [self.model.hear(event) for event in events])

    @precondition(lambda self: len(self.model.log) > 20)
    @rule(data=st.data())
    def withdraw(self, data: st.DataObject) -> None:
        event = Withdrawn(self.episode(data))
        self.agree([event], [self.model.withdraw(event)])

    @precondition(lambda self: len(self.model.log) > 20)
    @rule(index=FEW, subject=st.sampled_from(["Ann", "Bob"]))
    def withdraw_subject(self, index: int, subject: str) -> None:
        event = Withdrawn(problem=self.problem(index), subject=subject)
        self.agree([event], [self.model.withdraw(event)])

    @rule(index=FEW, back=st.one_of(st.none(), st.integers(-1, 5)))
    def tick(self, index: int, back: int | None) -> None:
        upto = None if back is None else max(1, len(self.model.log) - back)
        event = Tick(self.problem(index), upto)
        self.agree([event], [self.model.tick(event)])

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        if not hasattr(self, "model"):
            return
        events = list(self.ledger.events())
        assert [event.seq for event in events] == list(range(1, len(self.model.log) + 1))
        for event, line in zip(events, self.model.log, strict=True):
            found = {name: getattr(event, name) for name in ("kind", "problem", "episode")}
            assert found == {name: line[name] for name in found}
            assert event.redacted == line["redacted"]
            if event.kind == "published":
                assert event.body["version"] == line["body"]["version"]
            else:
                assert event.body == line["body"]
        assert sum(refusal.times for refusal in self.ledger.quarantine) <= self.model.refused
        assert self.ledger.faults() == []


TestLedgerMachine = LedgerMachine.TestCase
TestLedgerMachine.settings = settings(
    max_examples=60 if FULL else 12, stateful_step_count=25, deadline=None
)
