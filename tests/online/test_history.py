"""A history: what the events of a problem count to, in whatever pieces and however undone."""

import math
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from belated.ledger import Event, Feedback, Ledger, Opened, Recorded
from belated.online.history import (
    MAX_BINS,
    MICROSECONDS_PER_SECOND,
    HistogramView,
    HistoryView,
)
from belated.online.host import Host
from belated.online.learner_factory import build_learner
from belated.online.status import ProblemStatus
from combinations import FULL
from histories import KINDS, A, H, History, S, anything, make_spec

START = 1_794_750_600 * MICROSECONDS_PER_SECOND
TABLE = np.linspace(0, 1, H * S * A).reshape(H, S, A)

several_kinds = pytest.mark.parametrize(
    "options",
    [KINDS["unknown"], KINDS["known"], {"rewards": TABLE}, KINDS["late rewards"]],
    ids=["unknown", "known", "known by step", "late rewards"],
)


class Clock:
    """Tells what it is told."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> int:
        return self.now

    def pass_by(self, seconds: float) -> None:
        self.now += round(seconds * MICROSECONDS_PER_SECOND)


class Long(History):
    """A history that takes its time, and publishes versions."""

    def __init__(self, clock: Clock, ledger: Ledger, *, luck: int = 0, **options: Any) -> None:
        super().__init__(ledger, make_spec(**options), luck)
        self.clock = clock
        self.version = 0
        self.publish()

    def publish(self) -> None:
        self.version += 1
        policy = build_learner(self.spec).policy
        published = self.ledger.publish(self.problem, policy, version=self.version)
        assert isinstance(published, Recorded)

    def open(self, count: int = 1, *, subject: str | None = None) -> list[str]:
        ids = [self.rng.bytes(16).hex() for _ in range(count)]
        for id in ids:
            version = int(self.rng.integers(1, self.version + 1))
            self.ledger.append([Opened(self.problem, version, subject, id)])
            self.clock.pass_by(self.rng.exponential(0.3))
        self.episodes += ids
        return ids

    def move(self, *, ticks: bool, undo: bool) -> None:
        super().move(ticks=ticks, undo=undo)
        self.clock.pass_by(self.rng.exponential(20))
        if self.rng.random() < 0.2:
            self.publish()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(clock: Clock) -> Iterator[Ledger]:
    with Ledger.open("sqlite://", clock=clock) as opened:
        yield opened


def check(past: HistoryView, history: History) -> int:
    """Compare with a plain recount of the ledger; returns how many episodes are back."""
    opened, back = recount(history)
    times = {"at": [event.at for event in opened.values()], "back": [one["at"] for one in back]}
    keys = times["at"] + times["back"]
    bins = binned(
        past.times,
        keys,
        MICROSECONDS_PER_SECOND,
        origin=keys[0] // MICROSECONDS_PER_SECOND * MICROSECONDS_PER_SECOND if keys else 0,
    )
    for place, (start, end) in enumerate(bins):
        of = {name: column[place] for name, column in past.times.columns.items()}
        here = [one for one in back if start <= one["at"] < end]
        assert of["opened"] == sum(start <= at < end for at in times["at"])
        assert of["returned"] == len(here)
        assert of["delay"] == pytest.approx(sum(one["delay"] for one in here))
        assert of["longest"] == max((one["delay"] for one in here), default=-math.inf)
        assert of["episodes"] == sum(one["episodes"] for one in here)
    with_version = [event.body["version"] for event in opened.values()]
    assert past.newest == max(with_version, default=0)
    for place, (start, end) in enumerate(binned(past.versions, with_version, 1, origin=1)):
        of = {name: column[place] for name, column in past.versions.columns.items()}
        earned = [one["earned"] for one in back if start <= one["version"] < end]
        assert of["opened"] == sum(start <= version < end for version in with_version)
        assert of["returned"] == len(earned)
        assert of["earned"] == pytest.approx(sum(earned))
        assert of["squares"] == pytest.approx(sum(one**2 for one in earned))
    return len(back)


def binned(
    view: HistogramView, keys: list[int], width: int, *, origin: int
) -> list[tuple[int, int]]:
    """Return the expected limits of the bins."""
    if not keys:
        assert len(view.starts) == 0
        return []
    while (max(keys) - origin) // width - (min(keys) - origin) // width >= MAX_BINS:
        width *= 2
    first, last = (origin + (key - origin) // width * width for key in (min(keys), max(keys)))
    starts = range(first, last + 1, width)
    assert (view.width, view.starts) == (width, list(starts))
    return [(start, start + width) for start in starts]


def recount(history: History) -> tuple[dict[str, Event], list[dict[str, Any]]]:
    """Return the episodes opened and returned by the last tick, computed without a fold."""
    events = list(history.ledger.events(history.problem))
    upto = max((event.body["upto"] for event in events if event.kind == "tick"), default=0)
    gone = {id for event in events if event.kind == "withdrawn" for id in event.body["episodes"]}
    opened = {str(e.episode): e for e in events if e.kind == "opened" and e.episode not in gone}
    back = []
    for id, opening in opened.items():
        pieces = [e for e in events if e.episode == id and e.kind in ("feedback", "corrected")]
        corrections = [place for place, e in enumerate(pieces) if e.kind == "corrected"]
        pieces = [e for e in pieces[corrections[-1] if corrections else 0 :] if e.seq <= upto]
        earned = return_of([event.body for event in pieces], history.spec.rewards)
        if earned is not None:
            last = pieces[-1]
            back.append(
                {
                    "at": last.at,
                    "delay": max(0.0, (last.at - opening.at) / MICROSECONDS_PER_SECOND),
                    "episodes": sum(opening.seq < e.seq < last.seq for e in opened.values()),
                    "version": opening.body["version"],
                    "earned": earned,
                }
            )
    return opened, back


def return_of(contents: list[dict[str, Any]], known: Any) -> float | None:
    """The sum of the rewards of an episode; None if something is missing."""
    triples: dict[int, tuple[int, int]] = {}
    rewards: dict[int, float] = {}
    for content in contents:
        walk = content.get("path", content)
        triples |= dict(enumerate(zip(walk.get("states", []), walk.get("actions", []))))  # noqa: B905
        for step in content.get("steps", []):
            triples[step["step"]] = step["state"], step["action"]
            rewards[step["step"]] = step["reward"]
        sent = content.get("rewards") or {}
        pairs = enumerate(sent) if isinstance(sent, list) else sent.items()
        rewards |= {int(h): reward for h, reward in pairs}
    if known is not None:
        table = np.broadcast_to(known, (H, S, A))
        rewards = {h: float(table[h, s, a]) for h, (s, a) in triples.items()}
    complete = len(triples) == len(rewards) == H
    return math.fsum(rewards.values()) if complete else None


@several_kinds
@pytest.mark.parametrize("luck", range(2 if FULL else 1))
def test_a_history_is_a_plain_recount_of_the_ledger(
    memory: Ledger, clock: Clock, options: dict[str, Any], luck: int
) -> None:
    history = Long(clock, memory, luck=luck, **options)
    for _ in range(4):
        history.go_on(40)
        returned = check(history.fold().history.view(), history)
    assert returned > 10
    assert history.fold().history.view().times.width > MICROSECONDS_PER_SECOND


def test_a_return_is_told_as_of_the_arrival_of_the_last_piece(memory: Ledger, clock: Clock) -> None:
    history = Long(clock, memory, late="rewards")
    (id,) = history.open()
    clock.now = START
    facts = anything(history.rng)
    rewards = facts.pop("rewards")
    for seconds, piece in (
        (2.5, {"rewards": {0: rewards[0], 2: rewards[2]}}),
        (4.0, {"path": facts}),
        (7.25, {"rewards": {1: rewards[1]}}),
    ):
        history.open()
        clock.now = START + round(seconds * MICROSECONDS_PER_SECOND)
        memory.append([Feedback(id, piece)])
    history.open(5)
    clock.pass_by(100)
    assert history.fold().history.view().times.columns["returned"].sum() == 0
    history.tick()
    past = history.fold().history.view()
    of = {name: column[7] for name, column in past.times.columns.items()}
    assert (of["returned"], of["delay"], of["longest"], of["episodes"]) == (1, 7.25, 7.25, 3)
    assert past.versions.columns["earned"][0] == pytest.approx(sum(rewards))


def test_rewards_that_are_known_count_and_not_those_that_are_sent(
    memory: Ledger, clock: Clock
) -> None:
    history = Long(clock, memory, rewards=TABLE)
    facts = {"states": [0, 1, 2, 3], "actions": [0, 1, 0], "rewards": [0, 0, 0]}
    (id,) = history.open()
    memory.append([Feedback(id, facts)])
    history.tick()
    earned = history.fold().history.view().versions.columns["earned"][0]
    assert earned == pytest.approx(TABLE[0, 0, 0] + TABLE[1, 1, 1] + TABLE[2, 2, 0])


class Held:
    """A lock that another thread holds meanwhile."""

    def __init__(self, lock: Any) -> None:
        self._lock = lock
        self._held, self._enough = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._hold)

    def _hold(self) -> None:
        with self._lock:
            self._held.set()
            self._enough.wait()

    def __enter__(self) -> None:
        self._thread.start()
        self._held.wait()

    def __exit__(self, *error: object) -> None:
        self._enough.set()
        self._thread.join()


def test_while_a_learner_is_at_work_it_is_told_where_it_stood(memory: Ledger, clock: Clock) -> None:
    history = Long(clock, memory)
    host = Host(memory)
    first = host.status(history.known)
    assert isinstance(first, ProblemStatus)
    history.answer(*history.open(3))
    with Held(host.learners.get(history.known).lock):
        assert host.status(history.known) is first
    assert host.step()
    with Held(host.learners.get(history.known).lock):
        stood = host.status(history.known)
    assert isinstance(stood, ProblemStatus)
    assert stood.seq > first.seq
    assert stood.history.versions.columns["returned"].sum() == 3
    assert first.history.versions.columns["opened"].sum() == 0
    history.open()
    now = host.status(history.known)
    assert isinstance(now, ProblemStatus)
    assert now.history.versions.columns["opened"].sum() == 4
    host.stop()


def test_who_would_have_to_wait_can_be_told_so(
    memory: Ledger, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("belated.online.host.LOCK_TIMEOUT_S", 0)
    history = Long(clock, memory)
    host = Host(memory)
    with Held(host.learners.get(history.known).lock):
        assert host.status(history.known) is None
    first = host.status(history.known)
    assert isinstance(first, ProblemStatus)
    with Held(host.learners.get(history.known).lock):
        assert host.status(history.known) is first
