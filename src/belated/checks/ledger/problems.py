"""Problems: their definition, episodes, batches and versions."""

import secrets

import numpy as np

from belated.checks.ledger.samples import (
    ACTIONS,
    STATES,
    H,
    Open,
    answers,
    at,
    defined,
    kinds,
    one,
    policy,
    record,
    seq,
    spec,
)
from belated.checks.suite import require as hold
from belated.episode import Policy
from belated.online.events import Opened
from belated.online.outcomes import AlreadyRecorded, Conflict, Refused, Unknown


def defines_a_name_once(open: Open) -> None:
    """A problem is defined once; the same again is a repeat, and another is a conflict."""
    with open("definitions") as ledger:
        first = seq(ledger.define(spec("one")))
        second = seq(ledger.define(spec("two", late="rewards")))
        outcome = ledger.define(spec("one"))
        hold(outcome == AlreadyRecorded(first), f"The same problem again is {outcome!r}.")
        answers(ledger.define(spec("one", late="rewards")), Conflict, "another problem of a name")
        known = {name: ledger.problem(name) for name in ("one", "two", "three")}
        hold(
            known["three"] is None
            and all(
                found is not None and (found.id, found.spec) == (id, made)
                for found, id, made in (
                    (known["one"], first, spec("one")),
                    (known["two"], second, spec("two", late="rewards")),
                )
            )
            and [problem.id for problem in ledger.problems()] == [first, second],
            f"Two problems that were defined are known as {known}.",
        )
        event = at(ledger, first)
        hold(
            (event.problem, event.body) == (first, spec("one").body),
            f"Event {first} defines problem {event.problem} by {event.body}.",
        )


def numbers_episodes(open: Open) -> None:
    """Episodes are numbered 1, 2, ... within their problem, and told apart by opaque ids."""
    with open("episodes") as ledger:
        one_, two = defined(ledger, "one"), defined(ledger, "two")
        records = []
        for problem, count in ((one_, 2), (two, 1), (one_, 3)):
            outcomes = ledger.open_episodes(problem, count, version=1, subject="Ann")
            records += [record(outcome) for outcome in outcomes]
        got = [(episode.problem == one_, episode.number) for episode in records]
        hold(
            got == [(True, 1), (True, 2), (False, 1), (True, 3), (True, 4), (True, 5)],
            f"Episodes of two problems are numbered {got}.",
        )
        ids = {episode.id for episode in records}
        hold(
            len(ids) == 6 and min(map(len, ids)) >= 22,
            f"Episodes have the ids {ids}; each needs one of its own that nobody can guess.",
        )
        for episode in records:
            event, found = at(ledger, episode.seq), ledger.episode(episode.id)
            hold(
                event.body == {"number": episode.number, "version": 1}
                and event.episode == episode.id
                and found == episode,
                f"Episode {episode} is recorded by {event} and known as {found}.",
            )
        hold(ledger.episode("nobody") is None, "The ledger knows an episode that never was.")
        known = ledger.episodes([*ids, "nobody"])
        hold(
            known == {episode.id: episode for episode in records},
            f"Episodes {records} are known together as {known}.",
        )
        answers(one(ledger, Opened(one_, 2)), Refused, "an episode of a version to come")
        answers(one(ledger, Opened(99, 1)), Unknown, "an episode of no problem")


def opens_a_given_id_once(open: Open) -> None:
    """Who opens an episode again under the same id gets what it was given first."""
    with open("again") as ledger:
        problem = defined(ledger)
        id = secrets.token_urlsafe(16)
        first = one(ledger, Opened(problem, 1, "Ann", id))
        seq(ledger.publish(problem, policy(5), version=2))
        again = one(ledger, Opened(problem, 2, "Ann", id))
        hold(
            again == AlreadyRecorded(seq(first), record(first)),
            f"An episode that is opened as {first!r} is {again!r} the second time.",
        )
        answers(one(ledger, Opened(problem, 2, "Bob", id)), Conflict, "an id that is taken")
        hold(kinds(ledger).count("opened") == 1, "An episode that is opened again counts twice.")


def ends_batches_in_order(open: Open) -> None:
    """Batches end one after the other, and at events that are there."""
    with open("ticks") as ledger:
        problem, other = defined(ledger, "one"), defined(ledger, "two")
        first = ledger.tick(problem)
        body = at(ledger, seq(first)).body
        hold(
            body == {"upto": seq(first) - 1},
            f"A tick at {seq(first)} that covers all before it says {body}.",
        )
        again = ledger.tick(problem, seq(first) - 1)
        hold(again == AlreadyRecorded(seq(first)), f"The same tick again is {again!r}.")
        answers(ledger.tick(problem, seq(first) - 2), Refused, "a tick before the last")
        answers(ledger.tick(problem, ledger.last + 1), Refused, "a tick over what is to come")
        answers(ledger.tick(99), Unknown, "a tick of no problem")
        seq(ledger.tick(other, 1))
        seq(ledger.tick(problem, seq(first)))


def publishes_versions_in_order(open: Open) -> None:
    """Versions are published one after the other, and come back bit for bit."""
    with open("versions") as ledger:
        problem = seq(ledger.define(spec()))
        marks = np.zeros((H, len(STATES), len(ACTIONS)), np.bool_)
        marks[1, 2, 0] = True
        published = [
            policy(3),
            Policy(policy(5).actions, marks, 0.25),
            Policy(policy(5).actions, np.zeros_like(marks), 0.1),
        ]
        answers(ledger.publish(problem, policy(), version=2), Refused, "version 2 before version 1")
        ticks: list[int] = []
        for version, made in enumerate(published, 1):
            tick = ticks[-1] if ticks else None
            first = seq(ledger.publish(problem, made, version=version, tick=tick))
            again = ledger.publish(problem, made, version=version, tick=tick)
            hold(again == AlreadyRecorded(first), f"The same version again is {again!r}.")
            found = ledger.policies.newest(problem)
            hold(
                found is not None
                and at(ledger, first).body == {"version": version, "sha": found.sha, "tick": tick}
                and (found.version, found.seq, found.tick) == (version, first, tick),
                f"Version {version} is known as {found}.",
            )
            ticks.append(seq(ledger.tick(problem)))
        for version, made in enumerate(published, 1):
            hold(
                ledger.policies.get(problem, version) == made,
                f"Version {version} is another policy when it is read.",
            )
        hold(
            [found.version for found in ledger.policies.versions(problem)] == [1, 2, 3]
            and ledger.policies.get(problem, 4) is None
            and ledger.policies.newest(99) is None,
            f"Three versions are known as {ledger.policies.versions(problem)}.",
        )
        answers(ledger.publish(problem, policy(9), version=2), Conflict, "another version 2")
        answers(ledger.publish(problem, policy(), version=4, tick=1), Refused, "no such tick")
        late = ledger.publish(problem, policy(), version=4, tick=ticks[-2])
        answers(late, Refused, "a version from a tick before the last")
        short = Policy(np.zeros((H - 1, len(STATES)), np.int32))
        answers(ledger.publish(problem, short, version=4), Refused, "a policy that does not fit")
        answers(ledger.publish(99, policy(), version=1), Unknown, "a version of no problem")


def keeps_decisions(open: Open) -> None:
    """What a person decided is kept, with who it was; only what was published can come back."""
    with open("control") as ledger:
        problem = defined(ledger)
        for action, version in (("freeze", None), ("roll_back", 1), ("unfreeze", None)):
            told = seq(ledger.control(problem, action, version=version, by="Eve"))  # type: ignore[arg-type]
            body = at(ledger, told).body
            hold(
                body == {"action": action, "version": version, "by": "Eve"},
                f"{action} is recorded as {body}.",
            )
        answers(
            ledger.control(problem, "roll_back", version=2), Refused, "going back to no version"
        )
        answers(ledger.control(99, "freeze"), Unknown, "a decision about no problem")
