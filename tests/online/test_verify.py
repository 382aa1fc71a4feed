"""Verification: what was changed behind the ledger's back is found and told."""

from collections.abc import Callable
from hashlib import sha256
from typing import Any

import pytest
import sqlalchemy as sa

from belated.ledger import Corrected, Event, Ledger, Part, schema
from belated.ledger.schema import canonical, digest
from belated.online.fold import Fold
from belated.online.host import Host
from belated.online.snapshot_codec import decode_state, encode_state
from belated.online.verify import Verdict, verify
from histories import KINDS, History, make_spec


@pytest.fixture
def played(memory: Ledger) -> History:
    """A problem with versions and snapshots."""
    history = History(memory, make_spec())
    host = Host(memory, snapshot_every=10)
    host.step()
    for _ in range(6):
        history.answer(*history.open(5))
        host.step()
    host.stop()
    return history


def tamper(ledger: Ledger, statement: sa.Executable) -> None:
    """Change what the database would not let be changed."""
    with ledger.store.writing() as connection:
        for name in ("events_keep", "events_stay"):
            connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {name}")
        connection.execute(statement)


def judged(history: History) -> Verdict:
    return verify(history.ledger, history.known)


def seq_of(history: History, kind: Any, place: int) -> int:
    return list(history.ledger.events(history.problem, kinds=[kind]))[place].seq


def change_body(
    history: History, seq: int, change: Callable[[Any], None], *, sign: bool = False
) -> None:
    """Change an event; signed, its digest is changed with it."""
    (event,) = history.ledger.events(after=seq - 1, limit=1)
    body = event.body
    change(body)
    text = canonical(body)
    sha = digest(text, event.salt or b"") if sign else event.sha
    of = schema.events
    tamper(history.ledger, sa.update(of).where(of.c.seq == seq).values(body=text, sha=sha))


def test_what_a_host_made_is_sound(played: History) -> None:
    verdict = judged(played)
    assert (verdict.faults, verdict.unsettled, verdict.sound) == ([], [], True)
    assert verdict.events == played.ledger.last
    newest = played.ledger.policies.newest(played.problem)
    assert newest is not None
    assert newest.version > 2
    assert verdict.policy == newest.sha


@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS.keys())
def test_any_history_is_sound(memory: Ledger, options: dict[str, Any]) -> None:
    history = History(memory, make_spec(**options), 8)
    host = Host(memory, snapshot_every=8)
    host.step()
    for _ in range(8):
        history.go_on(6)
        host.step()
    verdict = judged(history)
    assert (verdict.faults, verdict.unsettled) == ([], [])


@pytest.mark.parametrize("sign", [False, True], ids=["unsigned", "signed"])
def test_feedback_that_was_changed_is_found(played: History, sign: bool) -> None:
    seq = seq_of(played, "feedback", 3)
    change_body(played, seq, lambda body: body.update(rewards=[1.0, 1.0, 1.0]), sign=sign)
    faults = judged(played).faults
    assert (f"Event {seq} has been changed: digest mismatch." in faults) is not sign
    assert any(fault.endswith("computed from the events.") for fault in faults)


def test_feedback_that_is_no_feedback_any_more_is_found(played: History) -> None:
    first, second = seq_of(played, "feedback", 3), seq_of(played, "feedback", 9)
    change_body(played, first, lambda body: body["states"].pop())
    change_body(played, second, lambda body: body.update(rewards=None))
    faults = judged(played).faults
    for seq in (first, second):
        assert f"Event {seq} has been changed: digest mismatch." in faults
    assert any(fault.startswith("The fold fails after ") for fault in faults)


def test_feedback_that_was_taken_away_is_found(played: History) -> None:
    of = schema.events
    tamper(played.ledger, sa.delete(of).where(of.c.seq == seq_of(played, "feedback", 3)))
    assert not judged(played).sound


def test_a_redacted_event_of_which_something_is_left_is_found(played: History) -> None:
    of, seq = schema.events, seq_of(played, "feedback", 3)
    tamper(played.ledger, sa.update(of).where(of.c.seq == seq).values(redacted=True))
    assert (
        f"Event {seq} is redacted, but not all of its content is deleted." in judged(played).faults
    )


@pytest.mark.parametrize("actions", [b"", b"\1\0\0\0" * 12], ids=["no", "another"])
def test_a_policy_that_was_changed_is_found(played: History, actions: bytes) -> None:
    of = schema.policies
    tamper(played.ledger, sa.update(of).where(of.c.version == 2).values(actions=actions))
    assert judged(played).faults == [
        "Version 2 has been changed since it was published: digest mismatch."
    ]


def test_a_policy_that_was_changed_with_its_event_is_found(played: History) -> None:
    of = schema.policies
    with played.ledger.store.reading() as connection:
        first, second = connection.execute(sa.select(of).order_by(of.c.version).limit(2)).all()
    tamper(
        played.ledger,
        sa.update(of).where(of.c.version == 2).values(actions=first.actions, sha=first.sha),
    )
    change_body(played, second.seq, lambda body: body.update(sha=first.sha), sign=True)
    assert judged(played).faults == ["Version 2 differs from the policy computed from the events."]


def test_a_policy_that_was_taken_away_is_found(played: History) -> None:
    of = schema.policies
    tamper(played.ledger, sa.delete(of).where(of.c.version == 2))
    [fault] = played.ledger.faults()
    assert fault.startswith(
        "The table policies differs from the events: the first row that differs"
    )


def snapshot_row(history: History) -> Any:
    of = schema.snapshots
    with history.ledger.store.reading() as connection:
        return connection.execute(sa.select(of).order_by(of.c.seq.desc())).first()


def test_a_snapshot_that_was_changed_is_found(played: History) -> None:
    of, row = schema.snapshots, snapshot_row(played)
    wrong = row.data[:-1] + bytes([row.data[-1] ^ 1])
    tamper(played.ledger, sa.update(of).where(of.c.seq == row.seq).values(data=wrong))
    assert judged(played).faults == [
        f"The snapshot at seq {row.seq} has been changed: digest mismatch."
    ]


def test_a_snapshot_that_was_changed_with_its_digest_is_found(played: History) -> None:
    of, row = schema.snapshots, snapshot_row(played)
    state = decode_state(row.data)
    state["learner"]["instances"][0]["counts"]["n"][0] += 1
    data = encode_state(state)
    tamper(
        played.ledger,
        sa.update(of).where(of.c.seq == row.seq).values(data=data, sha=sha256(data).hexdigest()),
    )
    assert judged(played).faults == [
        f"The snapshot at seq {row.seq} differs from the state computed from the events."
    ]


def test_a_problem_that_cannot_be_learnt_is_found(memory: Ledger) -> None:
    history = History(memory, make_spec(base=Part("nonsense")))
    (fault,) = judged(history).faults
    assert fault.startswith("The fold fails after 0 events: ValueError: base must be one of ")


def test_what_waits_for_a_host_is_told_and_is_no_fault(played: History) -> None:
    ledger = played.ledger
    ledger.append([Corrected(played.episodes[0], played.whole())])
    assert judged(played).unsettled == [
        f"The correction or withdrawal at seq {ledger.last} waits for the next batch."
    ]
    Host(ledger).step()
    assert judged(played).unsettled == []
    ledger.withdraw(episode=played.episodes[1])
    assert judged(played).unsettled == [
        f"The correction or withdrawal at seq {ledger.last} waits for the next batch."
    ]
    assert judged(played).sound


def test_a_tick_whose_policy_is_not_published_yet_is_told(memory: Ledger) -> None:
    history = History(memory, make_spec())
    assert judged(history).unsettled == ["No version has been published yet."]
    history.publish_first()
    history.answer(*history.open(9))
    history.tick()
    verdict = judged(history)
    assert verdict.unsettled == [
        f"The policy after the batch that ends at seq {memory.last} has not been published yet."
    ]
    assert verdict.sound


def test_what_is_withdrawn_while_it_looks_is_no_fault(
    played: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, plain = played.ledger, Fold.apply

    def apply(fold: Fold, event: Event) -> None:
        if event.kind == "tick":
            monkeypatch.setattr(Fold, "apply", plain)
            ledger.withdraw(episode=played.episodes[-1])
        plain(fold, event)

    monkeypatch.setattr(Fold, "apply", apply)
    verdict = judged(played)
    assert verdict.faults == []
    assert verdict.unsettled == [
        f"The correction or withdrawal at seq {ledger.last} waits for the next batch."
    ]
