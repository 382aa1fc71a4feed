"""Bins: sums by key, wherever the width doubled."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated.online.history.histogram import MAX_BINS, Aggregation, Histogram
from belated.online.snapshot_codec import decode_state, encode_state
from snapshots import same

COLUMNS: dict[str, Aggregation] = {"total": "sum", "most": "max", "counted": "sum"}

spans = st.sampled_from([10, 300, 10**4, 10**9])
chunks = spans.flatmap(
    lambda span: st.lists(
        st.lists(st.tuples(st.integers(-span, span), st.integers(-100, 100)), max_size=6),
        max_size=12,
    )
)
widths = st.sampled_from([1, 3, 1000])


def made(width: int = 1, origin: int | None = 0) -> Histogram:
    return Histogram(width, COLUMNS, origin=origin)


def put(bins: Histogram, chunk: list[tuple[int, int]]) -> None:
    keys, values = np.array(chunk, np.int64).reshape(-1, 2).T
    numbers = values.astype(np.float64)
    bins.add(keys, {"total": numbers, "most": numbers})
    for key in keys.tolist():
        bins.count(key, "counted")


def plain(pairs: list[tuple[int, int]], width: int, origin: int) -> dict[int, list[int]]:
    """The values by the start of the bin that their keys lie in."""
    found = defaultdict(list)
    for key, value in pairs:
        found[origin + (key - origin) // width * width].append(value)
    return found


@given(chunks, widths, st.integers(-500, 500))
def test_what_bins_come_to_is_a_plain_count_at_the_last_width(
    given: list[list[tuple[int, int]]], width: int, origin: int
) -> None:
    bins = made(width, origin)
    for chunk in given:
        put(bins, chunk)
    pairs = [pair for chunk in given for pair in chunk]
    view = bins.view()
    want = plain(pairs, view.width, origin)
    starts = range(min(want), max(want) + 1, view.width) if want else []
    assert view.starts == list(starts)
    assert len(view) == len(starts) <= MAX_BINS
    assert view.columns["total"].tolist() == [sum(want[start]) for start in starts]
    assert view.columns["counted"].tolist() == [len(want[start]) for start in starts]
    most = [max(want[start], default=-np.inf) for start in starts]
    assert view.columns["most"].tolist() == most


@given(chunks, widths)
def test_the_width_is_the_least_that_is_enough(
    given: list[list[tuple[int, int]]], width: int
) -> None:
    bins = made(width)
    for chunk in given:
        put(bins, chunk)
    keys = [key for chunk in given for key, _ in chunk] or [0]
    while max(keys) // width - min(keys) // width >= MAX_BINS:
        width *= 2
    assert bins.view().width == width


@given(chunks, st.data())
def test_bins_are_the_same_in_whatever_order_and_company_things_come(
    given: list[list[tuple[int, int]]], data: st.DataObject
) -> None:
    pairs = [pair for chunk in given for pair in chunk]
    shuffled = data.draw(st.permutations(pairs))
    one, other = made(), made()
    put(one, pairs)
    for pair in shuffled:
        put(other, [pair])
    assert same(one.snapshot(), other.snapshot())


@given(chunks, st.integers(0, 12), st.sampled_from([0, None]))
def test_restored_bins_go_on_to_the_same_bits(
    given: list[list[tuple[int, int]]], place: int, origin: int | None
) -> None:
    straight, bins = made(origin=origin), made(origin=origin)
    for number, chunk in enumerate(given):
        if number == place:
            bins = Histogram.restore(decode_state(encode_state(bins.snapshot())))
        for each in (straight, bins):
            put(each, chunk)
            third = np.array([value / 3 for _, value in chunk])
            each.add(np.array([key for key, _ in chunk], np.int64), {"total": third})
    assert same(straight.snapshot(), bins.snapshot())


def test_without_an_origin_the_first_key_is_rounded_down_to_it() -> None:
    bins = made(10, origin=None)
    assert bins.view().starts == []
    bins.count(47, "total")
    bins.count(2600, "total")
    assert bins.view().starts[0] == 40
    bins.count(39, "total")
    view = bins.view()
    assert (view.width, view.start) == (20, 20)  # 40 is still where a bin begins


def test_a_view_stays_as_it_was() -> None:
    bins = made()
    bins.count(0, "total")
    view = bins.view()
    bins.count(0, "total")
    bins.count(1000, "total")
    assert (view.width, view.columns["total"].tolist()) == (1, [1.0])
    with pytest.raises(ValueError, match="read-only"):
        view.columns["total"][0] = 5
    snapshot = bins.snapshot()
    bins.count(0, "total")
    assert snapshot["columns"]["total"].sum() == 3


def test_restored_bins_leave_the_snapshot_alone() -> None:
    bins = made()
    bins.count(0, "total")
    state = bins.snapshot()
    Histogram.restore(state).count(0, "total")
    assert same(state, bins.snapshot())
