"""Times that are far from all others do not make the bins of a history wider."""

import numpy as np
import pytest

from belated.ledger import Ledger
from belated.online.fold import Fold
from belated.online.history.history import History, Return
from belated.online.history.time_histogram import MICROSECONDS_PER_SECOND as SECOND
from belated.online.history.time_histogram import MIN_ENTRIES, TimeHistogram
from belated.online.snapshot_codec import decode_state, encode_state
from histories import History as Played
from histories import make_spec
from snapshots import same

NOW = 1_794_750_600 * SECOND
YEAR = 365 * 86_400 * SECOND


def counted(*times: int) -> TimeHistogram:
    histogram = TimeHistogram()
    for time in times:
        histogram.count(time, "opened")
    return histogram


def steady(count: int, start: int = NOW) -> list[int]:
    """One time a second."""
    return [start + i * SECOND for i in range(count)]


@pytest.mark.parametrize("jump", [30 * YEAR, -30 * YEAR, YEAR])
def test_one_clock_jump_does_not_make_bins_wider(jump: int) -> None:
    times = steady(200)
    view = counted(*times[:150], NOW + jump, *times[150:]).view()
    assert (view.width, len(view)) == (SECOND, 200)
    assert view.columns["opened"].sum() == 200
    assert view.outside == {"opened": 1, "returned": 0}


def test_a_jump_in_a_batch_of_returns_is_kept_aside() -> None:
    histogram = counted(*steady(200))
    keys = np.array([NOW, NOW + 30 * YEAR, NOW + SECOND])
    ones = np.ones(3)
    histogram.add(keys, {"returned": ones, "delay": ones, "longest": ones, "episodes": ones})
    view = histogram.view()
    assert (view.width, view.columns["returned"].sum()) == (SECOND, 2)
    assert view.outside == {"opened": 0, "returned": 1}


def test_while_the_time_is_far_everything_is_shown() -> None:
    view = counted(*steady(200), NOW + YEAR).view()
    assert view.outside == {}
    assert (view.columns["opened"].sum(), view.columns["opened"][-1]) == (201, 1)
    assert view.width > SECOND


def test_many_far_times_are_data() -> None:
    late = steady(200, NOW + YEAR)
    histogram = counted(*steady(200), *late)
    plain = counted(*late, *steady(200))
    histogram.count(NOW, "opened")
    view = histogram.view()
    assert (view.outside, view.columns["opened"].sum()) == ({}, 401)
    assert plain.view().width == view.width


def test_with_few_entries_no_time_is_far() -> None:
    view = counted(*steady(MIN_ENTRIES - 1), NOW + YEAR, NOW).view()
    assert (view.outside, view.columns["opened"].sum()) == ({}, MIN_ENTRIES + 1)


def test_a_restored_histogram_goes_on_to_the_same_bits() -> None:
    times = [*steady(100), NOW + YEAR, *steady(50), NOW - 3 * YEAR, NOW + YEAR, *steady(40)]
    end = counted(*times).snapshot()
    for place in range(95, len(times)):
        state = decode_state(encode_state(counted(*times[:place]).snapshot()))
        restored = TimeHistogram.restore(state)
        for time in times[place:]:
            restored.count(time, "opened")
        assert same(restored.snapshot(), end)


def test_the_history_of_a_problem_survives_a_wrong_clock(memory: Ledger) -> None:
    history = History()
    for number, time in enumerate(steady(300)):
        wrong = 20 * YEAR if number == 200 else 0
        history.add_opening(time, 1, recorded_at=time + wrong)
    history.add_returns([Return(NOW, NOW + YEAR, NOW, NOW + SECOND, 1, 1, 0.5)])
    history.add_opening(NOW, 1, recorded_at=NOW)
    view = history.view()
    assert (view.times.outside, view.arrivals.outside) == (
        {"opened": 0, "returned": 1},
        {"opened": 1, "returned": 0},
    )
    assert view.times.width == view.arrivals.width == 2 * SECOND
    assert same(History.restore(history.snapshot()).snapshot(), history.snapshot())
    assert Fold(Played(memory, make_spec()).spec).history.view().times.outside == {}
