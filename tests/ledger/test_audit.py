"""The tables that are made of events: what is missing, too much or different is told."""

import tracemalloc
from typing import Any

import pytest
import sqlalchemy as sa

import ledger_samples as samples
from belated.ledger import Corrected, Feedback, Ledger, audit, schema
from belated.ledger.audit import MAX_FAULTS
from belated.ledger.recording.content import parse_content
from belated.ledger.recording.deduplication import encode_parts
from belated.online.verify import verify
from histories import KINDS, History, make_spec

ROWS = 4500
NOBODY = "n" * 22


@pytest.fixture
def played(memory: Ledger) -> History:
    """A problem beside another, with something corrected, something withdrawn, and much pending."""
    other = History(memory, make_spec("shop"))
    history = History(memory, make_spec())
    for one in (other, history):
        one.publish_first()
        one.answer(*one.open(6, subject="Ann"))
        one.open(2)
    memory.append([Corrected(history.episodes[1], history.whole())])
    memory.withdraw(episode=history.episodes[2])
    step = {"step": 1, "state": 0, "action": 1, "next_state": 2, "reward": 0.5}
    memory.append([Feedback(history.episodes[7], {"steps": [step]})])
    assert told(history) == []
    return history


def told(history: History) -> list[str]:
    return audit.check_tables(history.ledger.store, history.known)


def tamper(history: History, *statements: sa.Executable) -> None:
    with history.ledger.store.writing() as connection:
        for name in ("events_keep", "events_stay"):
            connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {name}")
        for statement in statements:
            connection.execute(statement)


def unbound(ledger: Ledger, *statements: sa.Executable) -> None:
    """Change what refers to nothing, which SQLite lets pass only outside of a transaction."""
    driver: Any = ledger.store.engine.raw_connection().dbapi_connection
    driver.execute("PRAGMA foreign_keys = OFF")
    with ledger.store.writing() as connection:
        for statement in statements:
            connection.execute(statement)
    driver.execute("PRAGMA foreign_keys = ON")


def seq_of(history: History, episode: str, kind: str) -> int:
    [event] = (e for e in history.ledger.events() if (e.episode, e.kind) == (episode, kind))
    return event.seq


def opening(history: History, episode: str) -> int:
    """By which the claims know an episode."""
    return seq_of(history, episode, "opened")


@pytest.mark.parametrize("options", KINDS.values(), ids=KINDS.keys())
def test_any_history_comes_to_its_tables(memory: Ledger, options: dict[str, Any]) -> None:
    history = History(memory, make_spec(**options), 5)
    history.publish_first()
    history.go_on(150)
    assert told(history) == []
    assert audit.check_orphans(memory.store) == []


def test_it_is_so_on_any_database(ledger: Ledger) -> None:
    history = History(ledger, make_spec(late="rewards"), 5)
    history.publish_first()
    history.go_on(100)
    assert told(history) == []
    assert ledger.faults() == []
    of = schema.claims
    with ledger.store.writing() as connection:
        row: Any = connection.execute(sa.select(of).order_by(of.c.seq).limit(1)).one()
        [id] = (event.episode for event in ledger.events() if event.seq == row.episode)
        connection.execute(sa.delete(of).where(of.c.episode == row.episode, of.c.part == row.part))
    assert told(history) == [
        f"Part {row.part!r} of episode {id} arrived with event {row.seq}, "
        "but is not in the claims table."
    ]


def test_an_episode_that_was_taken_away_is_told(played: History) -> None:
    id, of = played.episodes[0], schema.episodes
    opened, heard = (seq_of(played, id, kind) for kind in ("opened", "feedback"))
    tamper(
        played,
        sa.delete(schema.claims).where(schema.claims.c.episode == opened),
        sa.delete(of).where(of.c.id == id),
    )
    assert told(played) == [
        f"Event {opened} opens episode {id}, which is not in the table of episodes.",
        f"Part 'whole' of episode {id} arrived with event {heard}, but is not in the claims table.",
    ]
    assert verify(played.ledger, played.known).faults == told(played)


def test_an_episode_that_was_never_opened_is_told(played: History) -> None:
    row = {"id": NOBODY, "problem": played.problem, "number": 9, "version": 1, "seq": 5}
    tamper(played, sa.insert(schema.episodes).values(**row))
    assert told(played) == [
        f"Episode {NOBODY} has number 9 in the table of episodes, "
        "but was not opened with that number."
    ]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"version": 7},
            "Episode {id} has version 7 in the table of episodes, but 1 according to the events.",
        ),
        (
            {"seq": 1},
            "Episode {id} has seq 1 in the table of episodes, but {seq} according to the events.",
        ),
        (
            {"withdrawn": 9},
            "Episode {id} has withdrawn 9 in the table of episodes, "
            "but None according to the events.",
        ),
        ({"number": 99}, "Event {seq} opens episode {id}, which is not in the table of episodes."),
    ],
)
def test_an_episode_that_is_another_is_told(
    played: History, change: dict[str, int], sentence: str
) -> None:
    id, of = played.episodes[3], schema.episodes
    tamper(played, sa.update(of).where(of.c.id == id).values(**change))
    expected = sentence.format(id=id, seq=seq_of(played, id, "opened"))
    assert told(played)[0] == expected
    assert len(told(played)) == 1 + ("number" in change)


def test_an_episode_that_is_not_withdrawn_any_more_is_told(played: History) -> None:
    id, of = played.episodes[2], schema.episodes
    gone = played.ledger.episode(id)
    assert gone is not None
    tamper(played, sa.update(of).where(of.c.id == id).values(withdrawn=None))
    texts = schema.subjects
    tamper(played, sa.update(texts).where(texts.c.episode == gone.seq).values(subject="Ann"))
    assert told(played) == [
        f"Episode {id} has withdrawn None in the table of episodes, "
        f"but {gone.withdrawn} according to the events.",
        f"Episode {id} has been withdrawn, but its subject is still stored.",
    ]


def test_a_claim_that_was_taken_away_is_told(played: History) -> None:
    id, of = played.episodes[7], schema.claims
    tamper(played, sa.delete(of).where(of.c.episode == opening(played, id)))
    seq = seq_of(played, id, "feedback")
    assert told(played) == [
        f"Part 'step:1' of episode {id} arrived with event {seq}, but is not in the claims table."
    ]


def test_a_claim_of_nothing_is_told(played: History) -> None:
    id, of = played.episodes[6], schema.claims
    [other] = (e.seq for e in played.ledger.events(kinds=["corrected"]))
    opened = opening(played, id)
    tamper(
        played,
        sa.insert(of).values(episode=opened, part="whole", sha="x", seq=4),
        sa.insert(of).values(episode=opened, part="step:0", sha="x", seq=other),
        sa.insert(of).values(episode=opened, part="step:1", sha="x", seq=10**6),
    )
    assert told(played) == [
        f"Part {part!r} of episode {id} is in the claims table with event {seq}, "
        "which does not contain it."
        for part, seq in (("whole", 4), ("step:0", other), ("step:1", 10**6))
    ]


@pytest.mark.parametrize(("which", "kind"), [(1, "feedback"), (2, "feedback")])
def test_a_claim_of_what_was_undone_is_told(played: History, which: int, kind: str) -> None:
    id, of = played.episodes[which], schema.claims
    seq = seq_of(played, id, kind)
    row = {"episode": opening(played, id), "part": "step:0", "sha": "x", "seq": seq}
    tamper(played, sa.insert(of).values(**row))
    assert told(played) == [
        f"Part 'step:0' of episode {id} is in the claims table with event {seq}, "
        "which does not contain it."
    ]


def test_a_claim_of_other_content_is_told(played: History) -> None:
    id, of = played.episodes[4], schema.claims
    opened = opening(played, id)
    tamper(played, sa.update(of).where(of.c.episode == opened).values(sha="0" * 64))
    seq = seq_of(played, id, "feedback")
    assert told(played) == [
        f"Part 'whole' of episode {id} has different content in event {seq} "
        "and in the claims table."
    ]


def test_what_was_replaced_and_is_not_told_so_is_told(played: History) -> None:
    of, (id, other) = schema.replaced, played.episodes[1:3]
    seq, right = (seq_of(played, one, "feedback") for one in (id, other))
    tamper(
        played,
        sa.delete(of).where(of.c.episode == opening(played, id)),
        sa.insert(of).values(episode=opening(played, other), seq=right),
    )
    assert told(played) == [
        f"Event {seq} of episode {id} was corrected, but is not in the table `replaced`.",
        f"Event {right} of episode {other} is in the table `replaced`, but was not corrected.",
    ]


def test_what_is_of_no_episode_is_told(played: History) -> None:
    tamper(
        played,
        sa.insert(schema.claims).values(episode=10**6, part="whole", sha="x", seq=5),
        sa.insert(schema.replaced).values(episode=1, seq=6),
        sa.insert(schema.subjects).values(episode=2, subject="Ann Other"),
    )
    assert played.ledger.faults() == [
        "Event 5 in the table claims refers to the episode opened by event 1000000, "
        "but that event opens no episode.",
        "Event 6 in the table replaced refers to the episode opened by event 1, "
        "but that event opens no episode.",
        "A subject in the table subjects refers to the episode opened by event 2, "
        "but that event opens no episode.",
    ]


def test_feedback_that_was_not_redacted_or_need_not_have_been_is_told(played: History) -> None:
    of = schema.events
    gone, here = (seq_of(played, played.episodes[n], "feedback") for n in (2, 3))
    tamper(
        played,
        sa.update(of).where(of.c.seq == gone).values(redacted=False),
        sa.update(of).where(of.c.seq == here).values(redacted=True, body=None),
    )
    faults = told(played)
    assert f"Event {gone} belongs to a withdrawn episode, but is not redacted." in faults
    assert f"Event {here} is redacted, but its episode was not withdrawn." in faults


def test_a_problem_of_another_name_is_told(played: History) -> None:
    of = schema.problems
    tamper(played, sa.update(of).where(of.c.id == played.problem).values(name="hospital"))
    sentence = (
        f"Problem {played.problem} is 'hospital' in the table of problems; "
        "it was defined as 'clinic'."
    )
    assert told(played) == [sentence]
    assert played.ledger.faults() == [sentence]


def test_problems_that_are_missing_or_too_many_are_told(memory: Ledger) -> None:
    clinic, shop = samples.defined(memory, "clinic"), samples.defined(memory, "shop")
    [episode] = samples.opened(memory, clinic)
    [other] = samples.opened(memory, shop)
    problems, episodes = schema.problems, schema.episodes
    unbound(
        memory,
        sa.delete(problems).where(problems.c.id == clinic),
        sa.insert(problems).values(id=99, name="nothing"),
        sa.delete(episodes).where(episodes.c.id == other),
    )
    assert memory.faults() == [
        f"Event {clinic} defines problem 'clinic', which is not in the table of problems.",
        "Problem 'nothing' is in the table of problems, but no event 99 defined it.",
        f"Episode {episode} belongs to no problem in the table of problems.",
    ]


def test_events_beyond_reading_are_told_and_no_more(played: History) -> None:
    of = schema.events
    seq = seq_of(played, played.episodes[0], "opened")
    tamper(played, sa.update(of).where(of.c.seq == seq).values(body="{}"))
    assert told(played) == ["The tables cannot be compared with the events: KeyError: 'number'"]
    faults = verify(played.ledger, played.known).faults
    assert f"Event {seq} has been changed: digest mismatch." in faults


FILL = (
    """INSERT INTO events SELECT {last} + n, {problem}, printf('{name}%019d', n), 'opened', 1, NULL,
       '{{"number":' || n || ',"version":1}}', NULL, 'x', FALSE FROM n ORDER BY n""",
    """INSERT INTO events SELECT {last} + {rows} + n, {problem}, printf('{name}%019d', n),
       'feedback', 1, NULL, '{text}', NULL, 'x', FALSE FROM n ORDER BY n""",
    """INSERT INTO episodes
       SELECT printf('{name}%019d', n), {problem}, n, 1, {last} + n, NULL, NULL
       FROM n""",
    """INSERT INTO claims
       SELECT {last} + n, 'whole', '{sha}', {last} + {rows} + n FROM n""",
)


def filled(ledger: Ledger, name: str, rows: int) -> History:
    """Many episodes that are back, put in by hand."""
    history = History(ledger, make_spec(name))
    numbers = f"WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {rows})"
    text, parts = encode_parts(parse_content(samples.whole(1), history.spec))
    given = {"last": ledger.last, "problem": history.problem, "rows": rows, "name": name}
    with ledger.store.writing() as connection:
        for statement in FILL:
            filling = statement.format(**given, text=text, sha=parts["whole"])
            connection.exec_driver_sql(f"{numbers} {filling}")
    return history


def peak(history: History) -> int:
    """Bytes that a comparison takes beyond what was there."""
    tracemalloc.start()
    try:
        assert told(history) == []
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_stays_flat_over_many_episodes(memory: Ledger) -> None:
    few, many = filled(memory, "few", 1500), filled(memory, "many", ROWS)
    peak(few)  # whatever is made once
    assert peak(many) < 1.5 * peak(few)


def test_only_the_first_faults_are_told(played: History) -> None:
    played.answer(*played.open(200))
    tamper(played, sa.update(schema.claims).values(sha="x"))
    assert len(told(played)) == MAX_FAULTS
