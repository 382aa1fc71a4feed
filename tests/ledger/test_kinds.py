"""The table of kinds of events says all that there is to say of each."""

from typing import get_args

import ledger_samples as samples
from belated.ledger import Corrected, Ledger, Lost
from belated.ledger.events import Kind
from belated.ledger.kinds import KINDS
from belated.online.fold import APPLY


def test_every_kind_is_recorded_audited_and_folded() -> None:
    assert set(KINDS) == set(APPLY) == set(get_args(Kind))


def test_bodies_of_personal_events_are_salted(memory: Ledger) -> None:
    problem = samples.defined(memory)
    ids = samples.opened(memory, problem, 3)
    samples.tell(memory, ids[0], samples.whole())
    samples.tell(memory, ids[1], {"steps": [samples.step(0)]})
    memory.append([Corrected(ids[0], samples.whole(5)), Lost(ids[2], "moved")])
    memory.withdraw(episode=ids[2])
    memory.tick(problem)
    memory.control(problem, "freeze")
    seen = set()
    for event in memory.events():
        seen.add(event.kind)
        assert (event.salt is not None) is (KINDS[event.kind].is_personal and not event.redacted)
    assert seen == set(KINDS)
