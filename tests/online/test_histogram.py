"""Histograms: sums by key, wherever the width doubled, and times far from all others apart."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated.online.history import (
    MAX_BINS,
    MAX_STORED_BINS,
    TIME_COLUMNS,
    Histogram,
    History,
    OpenEpisode,
)
from belated.online.history import MICROSECONDS_PER_SECOND as SECOND
from belated.online.snapshot_codec import decode_state, encode_state
from snapshots import same

COLUMNS = ("opened", "delay", "longest")
NOW = 1_794_750_600 * SECOND
YEAR = 365 * 86_400 * SECOND

spans = st.sampled_from([10, 300, 10**4, 10**9])
entries = spans.flatmap(
    lambda span: st.lists(st.tuples(st.integers(-span, span), st.integers(0, 100)), max_size=40)
)
widths = st.sampled_from([1, 3, 1000])


def made(pairs: list[tuple[int, int]], width: int = 1, origin: int | None = 0) -> Histogram:
    histogram = Histogram(COLUMNS, width, origin=origin)
    for key, value in pairs:
        histogram.add(key, {"opened": 1, "delay": value, "longest": value})
    return histogram


@given(entries, widths, st.integers(-500, 500))
def test_a_view_is_a_plain_count_at_the_least_width_that_is_enough(
    pairs: list[tuple[int, int]], width: int, origin: int
) -> None:
    view = made(pairs, width, origin).view()
    places = [(key - origin) // width for key, _ in pairs] or [0]
    octaves = 0
    while (max(places) >> octaves) - (min(places) >> octaves) >= MAX_BINS:
        octaves += 1
    assert view.width == width << octaves
    want = defaultdict(list)
    for key, value in pairs:
        want[origin + (key - origin) // view.width * view.width].append(value)
    starts = range(min(want), max(want) + 1, view.width) if want else []
    assert view.starts == list(starts)
    assert view.columns["opened"].tolist() == [len(want[start]) for start in starts]
    assert view.columns["delay"].tolist() == [sum(want[start]) for start in starts]
    assert view.columns["longest"].tolist() == [
        max(want[start], default=-np.inf) for start in starts
    ]


@given(entries, st.integers(0, 40), st.sampled_from([0, None]))
def test_a_restored_histogram_goes_on_to_the_same_bits(
    pairs: list[tuple[int, int]], place: int, origin: int | None
) -> None:
    state = decode_state(encode_state(made(pairs[:place], origin=origin).snapshot()))
    restored = Histogram(COLUMNS).restore(state)
    for key, value in pairs[place:]:
        restored.add(key, {"opened": 1, "delay": value, "longest": value})
    assert same(restored.snapshot(), made(pairs, origin=origin).snapshot())


def test_the_number_of_stored_bins_is_bounded() -> None:
    histogram = made([(i * 7, 1) for i in range(5 * MAX_STORED_BINS)])
    assert histogram.snapshot()["places"].size <= MAX_STORED_BINS
    assert histogram.view().columns["opened"].sum() == 5 * MAX_STORED_BINS


def test_without_an_origin_the_first_key_is_rounded_down_to_it() -> None:
    histogram = made([], 10, origin=None)
    assert histogram.view().starts == []
    for key in (47, 2600):
        histogram.add(key, {"opened": 1})
    assert histogram.view().starts[0] == 40
    histogram.add(39, {"opened": 1})
    view = histogram.view()
    assert (view.width, view.starts[0]) == (20, 20)  # 40 is still where a bin begins


def test_a_view_stays_as_it_was() -> None:
    histogram = made([(0, 1)])
    view = histogram.view()
    histogram.add(1000, {"opened": 1})
    assert (view.width, view.columns["opened"].tolist()) == (1, [1.0])
    with pytest.raises(ValueError, match="read-only"):
        view.columns["opened"][0] = 5


def timed(*times: int) -> Histogram:
    histogram = Histogram(TIME_COLUMNS, SECOND)
    for time in times:
        histogram.add(time, {"opened": 1})
    return histogram


def steady(count: int, start: int = NOW) -> list[int]:
    """One time a second."""
    return [start + i * SECOND for i in range(count)]


@pytest.mark.parametrize("jump", [30 * YEAR, -30 * YEAR, YEAR])
def test_one_clock_jump_does_not_make_bins_wider(jump: int) -> None:
    times = steady(200)
    view = timed(*times[:150], NOW + jump, *times[150:]).view(hides_outliers=True)
    assert (view.width, len(view.starts)) == (SECOND, 200)
    assert view.columns["opened"].sum() == 200
    assert view.outside == {"opened": 1, "returned": 0}


def test_while_the_time_is_far_everything_is_shown() -> None:
    view = timed(*steady(200), NOW + YEAR).view(hides_outliers=True)
    assert view.outside == {}
    assert (view.columns["opened"].sum(), view.columns["opened"][-1]) == (201, 1)
    assert view.width > SECOND


@pytest.mark.parametrize(
    "times", [[*steady(200), *steady(200, NOW + YEAR), NOW], [NOW + YEAR, NOW]]
)
def test_many_far_times_are_data(times: list[int]) -> None:
    view = timed(*times).view(hides_outliers=True)
    assert (view.outside, view.columns["opened"].sum()) == ({}, len(times))


def test_the_history_of_a_problem_survives_a_wrong_clock() -> None:
    history = History()
    for number, time in enumerate(steady(300)):
        wrong = 20 * YEAR if number == 200 else 0
        history.add_opening(OpenEpisode(number, time, time + wrong, 1, number))
    episode = OpenEpisode(1, NOW, NOW, 1, 1, NOW + YEAR, 0.5)
    history.add_return(episode, recorded_at=NOW + SECOND, episodes=1)
    history.add_opening(episode)
    view = history.view()
    assert (view.times.outside, view.arrivals.outside) == (
        {"opened": 0, "returned": 1},
        {"opened": 1, "returned": 0},
    )
    assert view.times.width == view.arrivals.width == 2 * SECOND
    assert same(History.restore(history.snapshot()).snapshot(), history.snapshot())
