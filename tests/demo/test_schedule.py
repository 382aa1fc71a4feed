"""The schedule of feedback."""

import math

import pytest

from belated.demo.clinic import VISITS
from belated.demo.simulation import REPEAT_PROBABILITY, SPLIT_PROBABILITY, FeedbackSchedule

PATIENTS = range(1, 3001)


@pytest.fixture(scope="module")
def plan() -> list[list[tuple[int, range, bool]]]:
    schedule = FeedbackSchedule(mean_delay=60, never=0.03, seed=7)
    return [[(s.delay, s.visits, s.repeated) for s in schedule.deliveries(k)] for k in PATIENTS]


def test_the_schedule_depends_on_the_seed() -> None:
    one, same, other = (
        FeedbackSchedule(mean_delay=60, never=0.03, seed=seed) for seed in (7, 7, 8)
    )
    assert [one.deliveries(k) for k in range(1, 100)] == [same.deliveries(k) for k in range(1, 100)]
    assert [one.deliveries(k) for k in range(1, 100)] != [
        other.deliveries(k) for k in range(1, 100)
    ]


def test_every_visit_is_reported_exactly_once_or_none_is(
    plan: list[list[tuple[int, range, bool]]],
) -> None:
    for sendings in plan:
        told = sorted(h for _, visits, again in sendings if not again for h in visits)
        assert told in ([], list(range(VISITS)))


def test_a_repetition_is_later_than_the_first_delivery(
    plan: list[list[tuple[int, range, bool]]],
) -> None:
    for sendings in plan:
        for delay, visits, again in sendings:
            if again:
                [before] = [d for d, other, twice in sendings if other == visits and not twice]
                assert before < delay


def test_delays_repetitions_splits_and_losses_have_their_probabilities(
    plan: list[list[tuple[int, range, bool]]],
) -> None:
    back = [sendings for sendings in plan if sendings]

    def near(count: int, share: float, of: int) -> bool:
        return abs(count - share * of) < 4 * math.sqrt(share * (1 - share) * of)

    assert near(len(plan) - len(back), 0.03, len(plan))
    assert near(sum(any(again for *_, again in one) for one in back), REPEAT_PROBABILITY, len(back))
    assert near(sum(len(one[0][1]) < VISITS for one in back), SPLIT_PROBABILITY, len(back))
    mean = sum(one[0][0] for one in back) / len(back)
    assert abs(mean - 60) < 4 * 60 / math.sqrt(len(back))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"mean_delay": -1.0, "never": 0.0, "seed": 0}, "geometric delay must lie in .*, got -1"),
        ({"mean_delay": 1.0, "never": 1.5, "seed": 0}, "probability must lie in .*, got 1.5"),
        ({"mean_delay": 1.0, "never": 0.0, "seed": -1}, "seed must lie in .*, got -1"),
    ],
)
def test_invalid_parameters_are_rejected(given: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FeedbackSchedule(**given)  # type: ignore[arg-type]
