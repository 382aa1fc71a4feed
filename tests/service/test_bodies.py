"""Parsing of feedback and times."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated.ledger.content import ContentError, UnusableContent, parse_content
from belated.service.bodies import parse_feedback, parse_time
from belated.service.errors import ApiError
from histories import make_spec

SPEC = make_spec()
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
FIELDS = st.sampled_from(["states", "actions", "rewards", "steps", "path", "event_time"])


@given(st.dictionaries(FIELDS, ANYTHING) | ANYTHING)
def test_any_value_is_parsed_and_the_ledger_rejects_those_with_an_error(
    content: object,
) -> None:
    parsed, _ = parse_feedback(content)
    if isinstance(parsed, UnusableContent):
        assert parsed.value is content
        with pytest.raises(ContentError, match=r"^event_time must be an ISO 8601 time"):
            parse_content(parsed, SPEC)


def test_the_event_time_is_separated_from_the_content() -> None:
    given = {"states": [0], "event_time": "1970-01-01T00:00:01Z"}
    assert parse_feedback(given) == ({"states": [0]}, 1_000_000)
    assert "event_time" in given


def test_a_time_is_read_in_microseconds() -> None:
    assert parse_time(None) is None
    assert parse_time("1970-01-01T00:00:00Z") == 0
    assert parse_time("1970-01-01T01:00:01.5+01:00") == 1_500_000


@pytest.mark.parametrize("text", ["1969-12-31T23:59:59.5+00:00", "2026-01-31T12:00:00", "no", 12])
def test_a_time_needs_a_time_zone_and_is_not_before_1970(text: object) -> None:
    with pytest.raises(ApiError) as raised:
        parse_time(text)
    assert (raised.value.status, raised.value.field) == (422, "event_time")
