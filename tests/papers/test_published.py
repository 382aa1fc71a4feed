"""The published numbers, and ours beside them."""

from dataclasses import replace

import numpy as np
import pytest

from belated.papers.howson2021.grid import PROPOSED_UPDATERS
from belated.papers.howson2021.published import (
    EPISODES,
    PLATEAUS,
    PUBLISHED,
    compare,
    compare_shapes,
    find_errors,
)
from made_up_runs import MadeUp, columns


def near_published(factor):
    """A made-up regret: a factor times the published one, 1 where nothing was legible."""

    def regret(states, learner, law, mean):
        return factor * PUBLISHED.get((states, learner, law, mean), 1 / factor)

    return regret


EXACT = MadeUp(regret=near_published(1.0), noise=0.0, own_noise=0.0, seeds=3)


def test_equal_numbers_have_no_error():
    found = compare(*EXACT.make())
    assert len(found) == sum(states in (5, 10) for states, *_ in PUBLISHED) + 1
    cells = [one for one in found if one.kind == "final"]
    assert all(one.error == 0 and len(one.regrets) == 3 and one.comparable for one in cells)
    assert find_errors(cells, "final") == [0] * len(cells)
    assert find_errors(cells, "final", selected=False) == find_errors(cells, "plateau") == []


def test_errors_are_relative_to_the_published_number_and_averaged_without_their_sign():
    def regret(states, learner, law, mean):
        return near_published(1.1 if learner == "active" else 0.8)(states, learner, law, mean)

    found = compare(*replace(EXACT, regret=regret, chains=(5,)).make())
    for one in found:
        assert one.error == pytest.approx(0.1 if one.updater == "active" else -0.2)
    count = sum(one.updater == "active" for one in found)
    assert sorted(find_errors(found, "final") + find_errors(found, "plateau")) == pytest.approx(
        [0.1] * count + [0.2] * (len(found) - count)
    )


def test_runs_of_another_length_are_shown_but_not_summed_up():
    runs, curves = replace(EXACT, chains=(5, 20), episodes=10_000).make()
    found = compare(runs, curves)
    assert {one.states: one.comparable for one in found} == {5: True, 20: False}
    assert len(find_errors(found, "final")) == sum(one.states == 5 for one in found)
    assert EPISODES == {5: 10_000, 10: 10_000, 20: 100_000, 30: 100_000}


def test_numbers_used_in_selection_and_predicted_ones_are_summed_up_apart():
    """Without delay and on short chains we are 10 % too high, elsewhere 30 %."""

    def regret(states, learner, law, mean):
        used = states in (5, 10) or mean == 0
        return near_published(1.1 if used else 1.3)(states, learner, law, mean)

    short = replace(EXACT, regret=regret, learners=PROPOSED_UPDATERS)
    long = replace(short, chains=(20, 30), episodes=100_000)
    found = compare(columns([*short.rows(), *long.rows()]), short.make()[1])
    delayed = sum(states in (20, 30) and mean > 0 for states, *_, mean in PUBLISHED)
    assert find_errors(found, "final") == pytest.approx([0.1] * (228 - delayed))
    assert find_errors(found, "final", selected=False) == pytest.approx([0.3] * delayed)


def test_a_shape_does_not_depend_on_the_level():
    found = compare_shapes(compare(*replace(EXACT, regret=near_published(1.5)).make()))
    assert {(one.states, one.law) for one in found} >= {(5, "poisson"), (10, "geometric")}
    for one in found:
        assert one.slope == pytest.approx(one.published_slope)
        assert one.distance == pytest.approx(0, abs=1e-12)
        assert one.points >= 4
        assert one.selected


def test_a_slope_has_an_interval_over_seeds_unless_they_are_few():
    noisy = replace(EXACT, regret=near_published(1.5), own_noise=5.0, seeds=10)
    for one in compare_shapes(compare(*noisy.make())):
        assert one.interval.low < one.slope < one.interval.high
        assert one.interval.estimate == one.slope
    assert all(
        one.interval.low == pytest.approx(one.slope) == one.interval.high
        for one in compare_shapes(compare(*replace(noisy, own_noise=0.0, noise=0.0).make()))
    )
    few = compare_shapes(compare(*replace(noisy, seeds=4).make()))
    assert few
    assert all(one.interval is None for one in few)


def test_a_shape_shows_a_penalty_that_is_too_small():
    """Half of the published penalty, at the published level without delay."""

    def regret(states, learner, law, mean):
        start = PUBLISHED.get((states, learner, "constant", 0), 1.0)
        return (PUBLISHED.get((states, learner, law, mean), 1.0) + start) / 2

    found = compare_shapes(compare(*replace(EXACT, regret=regret).make()))
    assert found
    for one in found:
        assert one.slope == pytest.approx(one.published_slope / 2)
        assert one.distance > 0


def exploring(**changes):
    """Explicit exploration that ends at the published plateaus, times 1.05."""
    levels = {key: 1.05 * value for key, (_, value) in PLATEAUS.items()}

    def regret(states, learner, law, mean):
        return levels.get((states, law, mean), 1.0)

    return MadeUp(
        regret=regret,
        noise=0.0,
        own_noise=0.0,
        seeds=3,
        learners=("explicit",),
        means=(100,),
        flat=0.4,
        explored=0.45,
        **{"chains": (20, 30), "episodes": 100_000, **changes},
    )


def test_plateaus_are_compared_after_exploration():
    found = compare(*exploring().make())
    assert [(one.kind, one.updater) for one in found] == [("plateau", "explicit")] * 4
    assert {(one.states, one.law) for one in found} == {
        (20, "constant"),
        (30, "constant"),
        (30, "uniform"),
        (30, "poisson"),
    }
    for one in found:
        assert one.error == pytest.approx(0.05)
        assert one.comparable
    assert find_errors(found, "final") == []
    assert find_errors(found, "plateau") == pytest.approx([0.05] * 4)


def test_a_plateau_at_an_episode_is_read_there():
    still_rising = exploring(chains=(10,), episodes=10_000)
    [one] = compare(*replace(still_rising, flat=1.0).make())
    assert one.ours == pytest.approx(1.05 * 1770 / 2)
    [one] = compare(*still_rising.make())
    assert one.ours == pytest.approx(1.05 * 1770)
    assert compare(*replace(still_rising, episodes=4_000).make()) == []


def test_plateaus_are_compared_on_the_chain_that_pays_for_right_if_there_are_runs():
    right = [
        {**row, "world": f"{row['world']}-right", "setting": row["setting"].replace("/", "-right/")}
        for row in exploring().rows()
    ]
    other = replace(exploring(), regret=lambda *_: 1.0).rows()
    found = compare(columns([*right, *other]), lambda id: curves_of(right, id))
    assert {one.world for one in found} == {"chain-20-right", "chain-30-right"}
    assert all(one.error == pytest.approx(0.05) for one in found)


def curves_of(rows, setting):
    """Curves of exploration that ends at 0.4 of the episodes."""
    mine = [row for row in rows if row["setting"] == setting]
    episode = np.arange(500, 100_001, 500)
    rise = np.minimum(1, episode / 40_000)
    return {
        "seed": np.repeat([row["seed"] for row in mine], episode.size),
        "episode": np.tile(episode, len(mine)),
        "regret": np.concatenate([row["total_regret"] * rise for row in mine]),
    }


def test_runs_that_still_explore_have_no_plateau():
    assert compare(*replace(exploring(), explored=0.95).make()) == []
