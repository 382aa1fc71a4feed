"""Nothing is left of what was withdrawn, where one can look."""

from pathlib import Path

import sqlalchemy as sa

import ledger_samples as samples
from belated.ledger import (
    AlreadyRecorded,
    Corrected,
    DataWithdrawn,
    Feedback,
    Ledger,
    NotFound,
    Opened,
    Recorded,
    Withdrawn,
    schema,
)
from ledger_samples import (
    at,
    defined,
    one,
    opened,
    seq,
    step,
    tell,
    whole,
)

SECRET = 0.123456789012


def telling(number: float = SECRET) -> dict[str, object]:
    return {**samples.whole(1), "rewards": [0.5, 0.25, number]}


def everything(ledger: Ledger) -> str:
    """All that the tables hold, as text."""
    with ledger.store.reading() as connection:
        return repr(
            [
                tuple(row)
                for table in schema.metadata.sorted_tables
                for row in connection.execute(sa.select(table))
            ]
        )


def play(ledger: Ledger) -> str:
    """An episode of which a secret is known, in every table that could hold one."""
    problem = samples.defined(ledger)
    [episode] = samples.opened(ledger, problem, subject="Ann Other")
    assert isinstance(samples.one(ledger, Feedback(episode, telling(), event_time=77)), Recorded)
    assert isinstance(samples.one(ledger, Corrected(episode, telling(SECRET / 2))), Recorded)
    samples.tell(ledger, episode, telling(SECRET / 4))
    assert ledger.snapshots.save(problem, ledger.last, f"holds {SECRET}".encode())
    return episode


def traces(text: str) -> list[str]:
    secrets = ["Ann Other", *(repr(SECRET / n) for n in (1, 2, 4)), "holds"]
    return [secret for secret in secrets if secret in text]


def test_no_table_holds_it(ledger: Ledger) -> None:
    play(ledger)
    assert len(traces(everything(ledger))) == 5
    [outcome] = ledger.withdraw(subject="Ann Other")
    assert isinstance(outcome, Recorded)
    assert traces(everything(ledger)) == []


def test_no_file_holds_it_on_sqlite(tmp_path: Path) -> None:
    def files() -> str:
        return "".join(file.read_bytes().decode("latin-1") for file in tmp_path.iterdir())

    with Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}") as ledger:
        play(ledger)
        assert len(traces(files())) == 5
        ledger.withdraw(subject="Ann Other")
        assert traces(files()) == []
    assert traces(files()) == []


def test_who_reads_puts_the_scrubbing_off_until_later(tmp_path: Path) -> None:
    with Ledger.open(f"sqlite:///{tmp_path / 'ledger.db'}") as ledger:
        play(ledger)
        with ledger.store.reading() as connection:
            connection.execute(sa.select(schema.events)).all()
            [outcome] = ledger.withdraw(subject="Ann Other")
            assert isinstance(outcome, Recorded)
            wal = (tmp_path / "ledger.db-wal").stat().st_size
        ledger.tick(1)
        assert wal > (tmp_path / "ledger.db-wal").stat().st_size == 0


def test_what_one_that_was_killed_left_is_scrubbed_by_the_next(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    with Ledger.open(url) as killed, Ledger.open(url) as alive:
        play(killed)
        with killed.store.reading() as connection:
            connection.execute(sa.select(schema.events)).all()
            killed.withdraw(subject="Ann Other")
        assert (tmp_path / "ledger.db-wal").stat().st_size > 0
        alive.tick(1)
        assert (tmp_path / "ledger.db-wal").stat().st_size == 0


def test_what_is_left_of_it_cannot_be_guessed(ledger: Ledger) -> None:
    """The digest of a body that could be guessed is salted, and the salt goes with the body."""
    problem = samples.defined(ledger)
    a, b = samples.opened(ledger, problem, 2)
    seqs = [samples.seq(samples.tell(ledger, id, telling())) for id in (a, b)]
    one, other = (samples.at(ledger, seq) for seq in seqs)
    assert one.text == other.text
    assert one.sha != other.sha
    ledger.withdraw(episode=a)
    left = samples.at(ledger, seqs[0])
    assert left == one._replace(text=None, salt=None, redacted=True)


def test_a_withdrawal_reaches_what_came_in_the_same_batch(ledger: Ledger) -> None:
    problem = samples.defined(ledger)
    [episode] = samples.opened(ledger, problem, subject="Ann Other")
    outcomes = ledger.append(
        [
            Feedback(episode, telling()),
            Feedback(episode, telling(SECRET / 2)),
            Withdrawn(problem=problem, subject="Ann Other"),
            Feedback(episode, telling(SECRET / 4)),
        ]
    )
    assert [type(outcome).__name__ for outcome in outcomes] == [
        "Recorded",
        "Conflict",
        "Recorded",
        "DataWithdrawn",
    ]
    assert traces(everything(ledger)) == []


def test_many_episodes_are_withdrawn_at_once(memory: Ledger) -> None:
    problem = samples.defined(memory)
    ids = samples.opened(memory, problem, 1200, subject="Ann Other")
    memory.append([Feedback(id, telling()) for id in ids])
    [outcome] = memory.withdraw(subject="Ann Other")
    assert samples.at(memory, samples.seq(outcome)).body == {"episodes": ids}
    assert sum(event.redacted for event in memory.events()) == 1200
    assert traces(everything(memory)) == []


def test_withdrawn_feedback_is_redacted_but_for_its_digest(any_ledger: Ledger) -> None:
    """Of the feedback of withdrawn episodes, only the seq and the digest remain."""
    ledger = any_ledger
    problem = defined(ledger)
    [bob] = opened(ledger, problem, subject="Bob")
    a, b, c = opened(ledger, problem, 3, subject="Ann")
    told = [
        seq(one(ledger, Feedback(a, whole(1), event_time=5))),
        seq(tell(ledger, b, {"steps": [step(0)]})),
        seq(one(ledger, Corrected(b, whole(2)))),
    ]
    kept = seq(tell(ledger, bob, whole(3)))
    tell(ledger, a, whole(4))
    before, digest = list(ledger.events()), ledger.digest()
    [outcome] = ledger.withdraw(subject="Ann")
    gone = seq(outcome)
    assert at(ledger, gone).body == {"episodes": [a, b, c]}
    assert at(ledger, gone).problem == problem
    for event in before:
        now = at(ledger, event.seq)
        left = event._replace(text=None, salt=None, event_time=None, redacted=True)
        assert now == (left if event.seq in told else event)
    assert ledger.digest(upto=before[-1].seq) == digest
    assert ledger.faults() == []
    for id in (a, b, c):
        record = ledger.episode(id)
        assert record is not None
        assert (record.subject, record.withdrawn) == (None, gone)
        for late in (Feedback(id, whole(1)), Corrected(id, whole(1))):
            assert type(one(ledger, late)) is DataWithdrawn
        assert type(one(ledger, Opened(problem, 1, "Ann", id))) is DataWithdrawn
    aside = list(ledger.quarantine)
    assert all(refusal.text is None for refusal in aside)
    assert len(aside) > 0
    assert at(ledger, kept).body == whole(3)


def test_an_episode_is_withdrawn_once(any_ledger: Ledger) -> None:
    """One episode can be withdrawn, once; a subject that is gone is unknown."""
    ledger = any_ledger
    one_, two = defined(ledger, "one"), defined(ledger, "two")
    a, b = opened(ledger, one_, 2, subject="Ann")
    [c] = opened(ledger, two, subject="Ann")
    [outcome] = ledger.withdraw(episode=a)
    again = ledger.withdraw(episode=a)
    assert again == [AlreadyRecorded(seq(outcome))]
    both = [at(ledger, seq(outcome)).body for outcome in ledger.withdraw(subject="Ann")]
    assert both == [{"episodes": [b]}, {"episodes": [c]}]
    assert ledger.withdraw(subject="Ann") == []
    assert type(one(ledger, Withdrawn(problem=one_, subject="Ann"))) is NotFound
    assert type(one(ledger, Withdrawn("nobody"))) is NotFound


def test_withdrawals_and_openings_of_one_transaction_take_effect_in_order(
    any_ledger: Ledger,
) -> None:
    ledger = any_ledger
    first, second = defined(ledger, "one"), defined(ledger, "two")
    [before] = opened(ledger, first, subject="Ann")
    ids = [f"{letter * 22}" for letter in "abc"]
    outcomes = ledger.append(
        [
            Opened(first, 1, "Ann", ids[0]),
            Opened(second, 1, "Ann", ids[1]),
            Withdrawn(episode=ids[0]),
            Withdrawn(problem=first, subject="Ann"),
            Withdrawn(problem=first, subject="Ann"),
            Opened(first, 1, "Ann", ids[2]),
            Withdrawn(problem=first, subject="Ann"),
            Withdrawn(problem=first, subject="Bob"),
        ]
    )
    kinds = [type(outcome) for outcome in outcomes]
    assert kinds == [Recorded, Recorded, Recorded, Recorded, NotFound, Recorded, Recorded, NotFound]
    gone = [at(ledger, seq(outcomes[index])).body["episodes"] for index in (2, 3, 6)]
    assert gone == [[ids[0]], [before], [ids[2]]]
    [left] = ledger.withdraw(subject="Ann")
    assert at(ledger, seq(left)).body == {"episodes": [ids[1]]}
