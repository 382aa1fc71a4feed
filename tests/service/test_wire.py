"""Feedback as it comes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated.online.content import ContentError, parse
from belated.online.problems import Problem
from belated.service.directory import Entry
from belated.service.wire import microseconds, translate
from histories import make_spec

ENTRY = Entry.of(Problem(1, make_spec()))
STATES = ENTRY.spec.states
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
FIELDS = st.sampled_from(["states", "actions", "rewards", "steps", "path", "event_time"])


@given(st.dictionaries(FIELDS, ANYTHING) | ANYTHING)
def test_whatever_comes_is_read_and_the_ledger_refuses_what_has_a_complaint(
    content: object,
) -> None:
    incoming = translate(content, ENTRY)
    if incoming.complaint is not None:
        with pytest.raises(ContentError):
            parse(incoming.content, ENTRY.spec)


@given(st.lists(st.integers(0, 3), min_size=4, max_size=4), st.data())
def test_names_and_numbers_may_be_mixed(states: list[int], data: st.DataObject) -> None:
    named = [STATES[s] if data.draw(st.booleans()) else s for s in states]
    content = {"states": named, "actions": [0, "action 1", 0]}
    assert translate(content, ENTRY).content == {"states": states, "actions": [0, 1, 0]}
    assert content["states"] is named


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1969-12-31T23:59:59.5+00:00", -500_000),
        ("2026-01-31T12:00:00", None),
        ("nothing", None),
        (12, None),
        (None, None),
    ],
)
def test_a_time_needs_its_zone(text: object, time: int | None) -> None:
    assert microseconds(text) == time
