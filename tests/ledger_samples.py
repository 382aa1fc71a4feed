"""A small clinic to keep a ledger of, and what comes back from it."""

from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from belated.episode import Policy
from belated.ledger.events import EpisodeRecord, Event, NewEvent, Outcome, Recorded
from belated.ledger.kinds import Feedback
from belated.ledger.ledger import Ledger
from belated.ledger.problems import Late, Part, ProblemSpec

H: Final = 3
STATES: Final = ("ill", "better", "well")
ACTIONS: Final = ("wait", "treat")


def spec(name: str = "clinic", *, late: Late = "everything") -> ProblemSpec:
    """A problem of three states, two actions and three steps, with unknown rewards."""
    return ProblemSpec(
        name=name,
        states=STATES,
        actions=ACTIONS,
        horizon=H,
        rewards=None,
        base=Part("ucrl2", {"delta": 0.1}),
        updater=Part("lazy", {"alpha": 2}),
        episodes=1000,
        late=late,
    )


def policy(number: int = 0) -> Policy:
    """One of many policies."""
    actions = [[number >> h * len(STATES) + s & 1 for s in range(len(STATES))] for h in range(H)]
    return Policy(np.array(actions, np.int32))


def whole(number: int = 0) -> dict[str, Any]:
    """Return sample feedback of a whole episode."""
    digits = [number // 3**i % 3 for i in range(H + 1)]
    return {
        "states": digits,
        "actions": [digit % 2 for digit in digits[1:]],
        "rewards": [0.5, 0.25, number % 1000 / 1000],
    }


def step(h: int, number: int = 0) -> dict[str, Any]:
    """One step of that."""
    all = whole(number)
    return {
        "step": h,
        "state": all["states"][h],
        "action": all["actions"][h],
        "next_state": all["states"][h + 1],
        "reward": all["rewards"][h],
    }


def path(number: int = 0) -> dict[str, Any]:
    """All of that but its rewards."""
    return {name: whole(number)[name] for name in ("states", "actions")}


def defined(ledger: Ledger, name: str = "clinic", *, late: Late = "everything") -> int:
    """A problem, with its first version published."""
    problem = seq(ledger.define(spec(name, late=late)))
    seq(ledger.publish(problem, policy(), version=1))
    return problem


def opened(
    ledger: Ledger, problem: int, count: int = 1, *, subject: str | None = None
) -> list[str]:
    """The ids of new episodes."""
    outcomes = ledger.open_episodes(problem, count, version=1, subject=subject)
    return [record(outcome).id for outcome in outcomes]


def seq(outcome: Outcome) -> int:
    """The seq of an event that was recorded."""
    assert isinstance(outcome, Recorded), outcome
    return outcome.seq


def record(outcome: Outcome) -> EpisodeRecord:
    """The episode that was opened."""
    assert isinstance(outcome, Recorded), outcome
    assert outcome.episode is not None
    return outcome.episode


def tell(ledger: Ledger, episode: str, content: Any) -> Outcome:
    """The outcome of feedback."""
    return one(ledger, Feedback(episode, content))


def one(ledger: Ledger, event: NewEvent) -> Outcome:
    """The outcome of a single event."""
    [outcome] = ledger.append([event])
    return outcome


def kinds(ledger: Ledger) -> list[str]:
    """The kind of every event, in order."""
    return [event.kind for event in ledger.events()]


def at(ledger: Ledger, seq: int) -> Event:
    """The event with this seq."""
    [event] = ledger.events(after=seq - 1, upto=seq)
    assert event.seq == seq
    return event


@dataclass(frozen=True)
class Counts:
    """Numbers of rows of a ledger."""

    events: dict[str, int]
    """By kind."""
    episodes: int
    withdrawn: int
    redacted: int
    quarantined: int


def count_rows(ledger: Ledger) -> Counts:
    """Count the rows of `ledger`."""
    events = list(ledger.events())
    ids = [str(event.episode) for event in events if event.kind == "opened"]
    return Counts(
        events=dict(Counter(event.kind for event in events)),
        episodes=len(ids),
        withdrawn=sum(record.withdrawn is not None for record in ledger.episodes(ids).values()),
        redacted=sum(event.redacted for event in events),
        quarantined=len(list(ledger.quarantine)),
    )
