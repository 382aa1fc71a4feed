"""Feedback as it comes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated.online.content import ContentError, parse
from belated.service.parsing import parse_feedback, parse_time
from histories import make_spec

SPEC = make_spec()
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
FIELDS = st.sampled_from(["states", "actions", "rewards", "steps", "path", "event_time"])


@given(st.dictionaries(FIELDS, ANYTHING) | ANYTHING)
def test_whatever_comes_is_read_and_the_ledger_refuses_what_has_a_complaint(
    content: object,
) -> None:
    feedback = parse_feedback(content)
    if feedback.error is not None:
        with pytest.raises(ContentError):
            parse(feedback.content, SPEC)


def test_the_time_at_which_it_happened_goes_beside_it() -> None:
    given = {"states": [0], "event_time": "1970-01-01T00:00:01Z"}
    assert parse_feedback(given) == ({"states": [0]}, 1_000_000, None)
    assert "event_time" in given


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
    assert parse_time(text) == time
