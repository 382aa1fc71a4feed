"""Ages, delays and the history follow event times; the learner follows the order of arrival."""

from collections.abc import Iterator
from typing import Any

import pytest

import belated as bl
from belated.ledger import Corrected, Feedback, Ledger, Opened, Recorded
from belated.online.fold import Fold
from belated.online.history import MICROSECONDS_PER_SECOND as SECOND
from belated.online.learner_factory import build_learner
from belated.online.snapshot_codec import decode_state, encode_state
from belated.online.status import ProblemStatus
from histories import History, anything, make_spec, step_of
from snapshots import same

NOW = 1_794_750_600 * SECOND
DAY = 86_400 * SECOND
JANUARY = 1_767_225_600 * SECOND  # 1 January 2026


class Imported(History):
    """A problem whose episodes are imported long after they happened."""

    def __init__(self, ledger: Ledger, **options: Any) -> None:
        super().__init__(ledger, make_spec(**options))
        self.publish_first()

    def open_at(self, event_time: int | None) -> str:
        """Open an episode that started at `event_time`; return its id."""
        id = self.rng.bytes(16).hex()
        [made] = self.ledger.append([Opened(self.problem, 1, None, id, event_time)])
        assert isinstance(made, Recorded)
        return id

    def answer_at(self, id: str, event_time: int | None, content: Any = None) -> None:
        """Send feedback that originated at `event_time`."""
        given = anything(self.rng) if content is None else content
        [made] = self.ledger.append([Feedback(id, given, event_time)])
        assert isinstance(made, Recorded), made

    def fold(self) -> Fold:
        """Return the fold of all events, restored from a snapshot in the middle."""
        events = list(self.ledger.events(self.problem))
        fold = Fold(self.spec)
        for event in events[: len(events) // 2]:
            fold.apply(event)
        fold = Fold.restore(self.spec, decode_state(encode_state(fold.snapshot())))
        for event in events[len(events) // 2 :]:
            fold.apply(event)
        return fold


@pytest.fixture
def memory() -> Iterator[Ledger]:
    with Ledger.open("sqlite://", clock=lambda: NOW) as opened:
        yield opened


def bins(view: Any) -> list[tuple[int, dict[str, float]]]:
    """Return the start and the columns of each bin that is not empty."""
    rows = [
        {name: column[i] for name, column in view.columns.items()} for i in range(len(view.starts))
    ]
    pairs = zip(view.starts, rows, strict=True)
    return [(start, row) for start, row in pairs if row["opened"] or row["returned"]]


def test_an_imported_episode_is_as_old_as_its_event_time_says(memory: Ledger) -> None:
    history = Imported(memory)
    history.open_at(JANUARY)
    history.open_at(None)
    fold = history.fold()
    status = ProblemStatus.of(fold)
    assert (status.opened_at, status.recorded_at) == ([JANUARY, NOW], [NOW, NOW])


def test_a_delay_lasts_from_event_time_to_event_time(memory: Ledger) -> None:
    history = Imported(memory)
    id = history.open_at(JANUARY)
    history.open_at(JANUARY + DAY)
    history.answer_at(id, JANUARY + 3 * DAY)
    history.tick()
    view = history.fold().history.view()
    [(first, opened), (second, _), (last, returned)] = bins(view.times)
    assert (first, opened["opened"]) == (JANUARY, 1)
    assert 0 <= JANUARY + DAY - second < view.times.width
    assert 0 <= JANUARY + 3 * DAY - last < view.times.width
    assert (returned["delay"], returned["longest"], returned["episodes"]) == (259_200, 259_200, 1)
    [(start, arrived)] = bins(view.arrivals)
    assert start == NOW
    assert (arrived["opened"], arrived["returned"], arrived["delay"]) == (2, 1, 0)
    assert arrived["episodes"] == 1


def test_an_episode_in_pieces_returns_with_the_latest_of_them(memory: Ledger) -> None:
    history = Imported(memory)
    id = history.open_at(JANUARY)
    facts = anything(history.rng)
    for h, day in ((2, 9), (0, 2), (1, 5)):
        history.answer_at(id, JANUARY + day * DAY, {"steps": [step_of(facts, h)]})
        history.tick()
    (_, returned) = bins(history.fold().history.view().times)[-1]
    assert returned["longest"] == 9 * 86_400


def test_a_correction_has_a_time_of_its_own(memory: Ledger) -> None:
    history = Imported(memory)
    id = history.open_at(JANUARY)
    memory.append([Corrected(id, anything(history.rng), JANUARY + 2 * DAY)])
    history.tick()
    (_, returned) = bins(history.fold().history.view().times)[-1]
    assert returned["longest"] == 2 * 86_400


@pytest.mark.parametrize("opened", [NOW + DAY, 2**62, JANUARY, None])
@pytest.mark.parametrize("answered", [JANUARY - DAY, -(2**62), NOW + 5 * DAY, 2**62, None])
def test_impossible_times_give_no_negative_delay_and_no_future(
    memory: Ledger, opened: int | None, answered: int | None
) -> None:
    history = Imported(memory)
    history.answer_at(history.open_at(opened), answered)
    history.open_at(opened)
    history.tick()
    fold = history.fold()
    view = fold.history.view()
    assert max(ProblemStatus.of(fold).opened_at) <= NOW
    assert view.times.starts[-1] <= NOW
    assert view.times.columns["returned"].sum() == 1
    assert view.times.columns["longest"].max() >= 0


def test_the_learner_uses_the_order_of_arrival(memory: Ledger) -> None:
    history = Imported(memory)
    learner = build_learner(history.spec)
    ids = [history.open_at(JANUARY + day * DAY) for day in (8, 5, 2)]
    came = [anything(history.rng) for _ in ids]
    for number, (id, facts) in enumerate(zip(ids, came, strict=True), start=1):
        learner.start(number)
        history.answer_at(id, JANUARY + (20 - number) * DAY, facts)
    history.tick()
    learner.observe([bl.Episode(n, **facts) for n, facts in enumerate(came, start=1)])
    assert same(history.fold().learner.snapshot(), learner.snapshot())
