"""Damaged events and snapshots are reported; they never reach compiled code, or stop others."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from belated.cli.support.existing_ledger import open_existing_ledger, verify_ledger
from belated.episode import Shape
from belated.learner.feedback import Feedback
from belated.learner.learner import Learner
from belated.ledger import Ledger, Lost, schema
from belated.ledger.schema import canonical, digest
from belated.online.fold import Fold
from belated.online.host import Host
from belated.online.learner_cache import Follower
from belated.online.snapshot_codec import encode_state
from belated.online.status import Failure
from belated.online.verify import verify
from combinations import FULL
from histories import H, History, S, make_spec

FAR = 2**30
FUZZ_CASES = 1500 if FULL else 300


def run_in_process(*arguments: str) -> str:
    """Run Python in a new process, which may crash, and return its output."""
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def damage(ledger: Ledger, seq: int, change: Callable[[Any], Any], *, sign: bool = True) -> None:
    """Change the body of an event behind the ledger's back, and its digest if `sign` is True."""
    [event] = ledger.events(after=seq - 1, upto=seq)
    body = event.body
    change(body)
    text, of = canonical(body), schema.events
    sha = digest(text, event.salt or b"") if sign else event.sha
    with ledger.store.writing() as connection:
        connection.exec_driver_sql("DROP TRIGGER IF EXISTS events_keep")
        connection.execute(sa.update(of).where(of.c.seq == seq).values(body=text, sha=sha))


def put(*path: Any, value: Any) -> Callable[[Any], None]:
    """Return a function that sets the value at `path` in a body."""

    def change(body: Any) -> None:
        for key in path[:-1]:
            body = body[key]
        body[path[-1]] = value

    return change


def play(ledger: Ledger, name: str = "clinic") -> tuple[History, int]:
    """Return a problem with feedback of five episodes, and the seq of the third feedback."""
    history = History(ledger, make_spec(name))
    history.publish_first()
    history.answer(*history.open(5))
    return history, [event.seq for event in ledger.events(history.problem)][-3]


@pytest.mark.parametrize(
    "change",
    [
        put("states", 0, value=-1),
        put("states", H, value=S),
        put("states", 0, value=0.5),
        put("states", 0, value="0"),
        put("states", 0, value=2**70),
        put("actions", value=[0] * (H + 1)),
        put("actions", value=[]),
        put("rewards", 0, value=2),
        put("rewards", value=None),
        put("rewards", 0, value=None),
        lambda body: body.clear(),
        lambda body: body.pop("states"),
    ],
)
def test_a_failure_contains_the_seq_of_the_damaged_event(
    memory: Ledger, change: Callable[[Any], Any]
) -> None:
    history, seq = play(memory)
    damage(memory, seq, change)
    history.tick()
    assert any(f"Event {seq} " in fault for fault in verify(memory, history.known).faults)
    host = Host(memory)
    host.step()
    assert host.failures[history.problem].reason.startswith(f"Event {seq} cannot be applied.")


def test_an_event_that_does_not_match_its_digest_is_not_applied(memory: Ledger) -> None:
    history, seq = play(memory)
    damage(memory, seq, put("rewards", 0, value=0.125), sign=False)
    with pytest.raises(ValueError, match=f"Event {seq} .*digest mismatch"):
        Follower(memory, history.known).catch_up()


def test_new_events_are_range_checked_by_a_fold_that_continues(memory: Ledger) -> None:
    history, _ = play(memory)
    host = Host(memory)
    host.step()
    history.answer(*history.open(2))
    seq = memory.last
    damage(memory, seq, put("states", 1, value=FAR))
    host.step()
    assert host.failures[history.problem].reason.startswith(f"Event {seq} cannot be applied.")


def test_a_reason_that_is_not_a_text_is_a_fault(memory: Ledger) -> None:
    history = History(memory, make_spec("clinic"))
    history.publish_first()
    [episode] = history.open(1)
    memory.append([Lost(episode, "why")])
    damage(memory, memory.last, put("reason", value=7))
    assert any("reason" in fault for fault in verify(memory, history.known).faults)


def test_a_snapshot_whose_lost_episodes_are_not_in_flight_is_rejected(memory: Ledger) -> None:
    history = History(memory, make_spec("clinic"))
    history.publish_first()
    [episode] = history.open(1)
    memory.append([Lost(episode, "why")])
    state = Follower(memory, history.known).catch_up().snapshot()
    assert len(Fold.restore(history.spec, state).lost) == 1
    for lost, reason in (
        (["x", 1], "lost episode must be in flight"),
        ([episode, 2], "must lie in 0 .. 1"),
        ([episode, "1"], "opened must be"),
    ):
        with pytest.raises(ValueError, match=reason):
            Fold.restore(history.spec, {**state, "lost": [lost]})


def test_a_text_that_is_not_utf_8_is_a_failure_of_its_problem_alone(memory: Ledger) -> None:
    (history, seq), (other, _) = play(memory), play(memory, "other")
    with memory.store.writing() as connection:
        connection.exec_driver_sql("DROP TRIGGER events_keep")
        connection.exec_driver_sql(f"UPDATE events SET body = CAST(x'ff' AS TEXT) WHERE seq={seq}")
    host = Host(memory)
    host.step()
    assert list(host.failures) == [history.problem]
    assert f"Event {seq} has been changed: digest mismatch" in host.failures[history.problem].reason
    assert memory.policies.newest(other.problem) is not None


@pytest.mark.parametrize(
    ("column", "message"), [("body", "digest mismatch"), ("episode", "There is no episode b'")]
)
def test_verify_reports_a_value_of_another_type(sqlite_url: str, column: str, message: str) -> None:
    with Ledger.open(sqlite_url) as ledger:
        _, seq = play(ledger)
        with ledger.store.writing() as connection:
            connection.exec_driver_sql("DROP TRIGGER events_keep")
            connection.exec_driver_sql(
                f"UPDATE events SET {column} = CAST({column} AS BLOB) WHERE seq={seq}"
            )
    with open_existing_ledger(sqlite_url) as ledger:
        faults = verify_ledger(ledger, problem=None).faults
    assert any(message in fault for fault in faults), faults


def test_verify_reports_a_row_that_does_not_match_its_index(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with Ledger.open(f"sqlite:///{path}") as ledger:
        play(ledger)
        ledger.store.scrub(wait=True)
        with ledger.store.reading() as connection:
            columns = schema.episodes.c
            query = sa.select(columns.id, columns.number).order_by(columns.number.desc())
            id, number = connection.execute(query.limit(1)).one()
    data = bytearray(path.read_bytes())
    # in a row of the table, the number of the episode follows its id; problem 1 takes no byte
    at = data.index(id.encode() + bytes([number])) + len(id)
    data[at] = number + 2
    path.write_bytes(data)
    with open_existing_ledger(f"sqlite:///{path}") as damaged:
        result = verify_ledger(damaged, problem=None)
    assert any("The database is damaged" in fault for fault in result.faults), result


def test_a_damaged_definition_does_not_stop_other_problems(sqlite_url: str) -> None:
    with Ledger.open(sqlite_url) as ledger:
        (history, _), (other, _) = play(ledger), play(ledger, "other")
        damage(ledger, history.problem, put("horizon", value=4), sign=False)
    with Ledger.open(sqlite_url) as ledger:
        host = Host(ledger)
        host.step()
        host.stop()
        assert list(host.failures) == [history.problem]
        assert f"Event {history.problem}" in host.failures[history.problem].reason
        assert list(ledger.events(other.problem, kinds=["tick"]))
        names = [name for name, found in host.summaries if isinstance(found, Failure)]
        assert names == [f"problem {history.problem}"]


SNAPSHOT_DAMAGE = {
    "succ": lambda learner: learner["instances"][0]["counts"]["succ"].fill(FAR),
    "start": lambda learner: learner["instances"][0]["counts"]["start"].fill(FAR),
    "size": lambda learner: learner["instances"][0]["counts"]["size"].fill(S + 1),
    "head": lambda learner: learner["instances"][0]["counts"]["head"].fill(FAR),
    "link_row": lambda learner: learner["instances"][0]["counts"]["link_row"].fill(-5),
    "used": lambda learner: learner["instances"][0]["counts"]["used"].fill(-1),
    "actions": lambda learner: learner["instances"][0]["table"]["actions"].fill(FAR),
    "order": lambda learner: learner["instances"][0]["table"]["order"].fill(-FAR),
    "v": lambda learner: learner["instances"][0]["table"]["v"].fill(np.nan),
    "short n": lambda learner: put("counts", "n", value=np.zeros(1, np.int64))(
        learner["instances"][0]
    ),
    "type of n": lambda learner: put("counts", "n", value=np.zeros(H * S * 2, np.int8))(
        learner["instances"][0]
    ),
    "worklist": lambda learner: put("touched", value=np.array([FAR]))(learner["instances"][0]),
    "no table": lambda learner: learner["instances"][0].pop("table"),
    "no instances": lambda learner: learner["instances"].clear(),
    "instance": lambda learner: learner["pending"]["instances"].fill(7),
    "id": lambda learner: learner["pending"]["ids"].fill(-1),
}


def damaged_snapshot(change: Callable[[Any], Any]) -> tuple[Ledger, History, dict[str, Any]]:
    ledger = Ledger.open("sqlite://")
    history, _ = play(ledger)
    history.tick()
    history.open(2)
    state = Follower(ledger, history.known).catch_up().snapshot()
    change(state["learner"])
    return ledger, history, state


@pytest.mark.parametrize("change", SNAPSHOT_DAMAGE.values(), ids=SNAPSHOT_DAMAGE.keys())
def test_a_damaged_snapshot_is_ignored_and_the_reason_logged(
    change: Callable[[Any], Any], caplog: pytest.LogCaptureFixture
) -> None:
    ledger, history, state = damaged_snapshot(change)
    with pytest.raises(ValueError, match=r"must|missing|malformed"):
        Learner.restore(state["learner"])
    ledger.snapshots.save(history.problem, state["seq"], encode_state(state))
    fold = Follower(ledger, history.known).catch_up()
    assert fold.seq == ledger.last
    assert f"snapshot at seq {state['seq']} is ignored" in caplog.text


def test_a_snapshot_that_does_not_match_its_digest_is_logged(
    memory: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    history, seq = play(memory)
    memory.snapshots.save(history.problem, seq, b"data")
    with memory.store.writing() as connection:
        connection.execute(sa.update(schema.snapshots).values(data=b"other"))
    assert memory.snapshots.newest(history.problem) is None
    assert f"at seq {seq} is ignored: digest mismatch" in caplog.text


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("steps", [0, H]),
        ("states", [0, FAR]),
        ("actions", [0, -1]),
        ("successors", [S, 0]),
        ("states", [0.0, 1.0]),
        ("states", [0]),
        ("rewards", [0.0, np.nan]),
        ("rewards", [0.0, 1.5]),
    ],
)
def test_absorb_checks_the_arrays_of_feedback(name: str, values: list[Any]) -> None:
    learner = Learner(Shape(S, 2, H), base="ucrl2", updater="active", rewards=None, episodes=9)
    zeros = np.zeros(2, np.int64)
    good = Feedback(1, np.arange(2), zeros, zeros, zeros, np.zeros(2))
    with pytest.raises(ValueError, match="must"):
        learner.absorb([good._replace(**{name: np.array(values)})])
    assert learner.missing == 0
    learner.absorb([good])
    assert learner.missing == 1


def test_thousands_of_changed_bytes_neither_crash_nor_pass_in_silence() -> None:
    program = Path(__file__).parent / "fuzz.py"
    paths = [str(program.parent), str(program.parent.parent)]
    run = f"import sys; sys.path[:0] = {paths}; import fuzz; fuzz.main({FUZZ_CASES}, 11)"
    counts = json.loads(run_in_process("-c", run))
    for kind, outcomes in counts.items():
        assert set(outcomes) == {"error", "valid"}, kind
        # most pages of a small backup are nearly empty, and a change there is of no consequence
        assert outcomes["error"] >= sum(outcomes.values()) / (10 if kind == "backups" else 5)
    assert sum(sum(outcomes.values()) for outcomes in counts.values()) > 2 * FUZZ_CASES
