import pickle
import tracemalloc

import numpy as np
import pytest

from belated.episode import Shape
from belated.mdp.model import MDP

SHAPE = Shape(2, 1, 3)
ENTRIES = [(0, 0, 1, 1.0), (1, 0, 0, 0.25), (1, 0, 1, 0.75)]
REWARDS = np.array([[0.0], [1.0]])


def rows(rng: np.random.Generator, *lead: int, states: int) -> np.ndarray:
    """Return random rows of probabilities, about half of which are zero."""
    p = rng.random((*lead, states)) * (rng.random((*lead, states)) < 0.5)
    p[..., 0] += 0.1
    return p / p.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("stages", [(), (4,)])
def test_a_dense_world_gives_its_tables_back(stages):
    rng = np.random.default_rng(1)
    p, r = rows(rng, *stages, 5, 3, states=5), rng.random((*stages, 5, 3))
    world = MDP.dense(p, r, horizon=4)
    assert world.shape == Shape(5, 3, 4)
    np.testing.assert_array_equal(world.transition_table(), np.broadcast_to(p, (4, 5, 3, 5)))
    np.testing.assert_array_equal(world.reward_table(), np.broadcast_to(r, (4, 5, 3)))


def test_only_possible_successors_are_stored_in_the_order_of_their_index():
    p = np.array([[[0.5, 0.0, 0.5]], [[0.0, 1.0, 0.0]], [[0.25, 0.25, 0.5]]])
    world = MDP.dense(p, np.zeros((3, 1)), horizon=2)
    np.testing.assert_array_equal(world.ptr, [0, 2, 3, 6])
    np.testing.assert_array_equal(world.succ, [0, 2, 1, 0, 1, 2])
    np.testing.assert_array_equal(world.prob, [0.5, 0.5, 1.0, 0.25, 0.25, 0.5])
    np.testing.assert_array_equal(world.cum, [0.5, 1.0, 1.0, 0.25, 0.5, 1.0])
    assert (world.ptr.dtype, world.succ.dtype) == (np.int64, np.int32)


@pytest.mark.parametrize("stages", [(), (3,)])
def test_sparse_and_dense_build_the_same_world_from_entries_in_any_order(stages):
    rng = np.random.default_rng(2)
    p, r = rows(rng, *stages, 4, 2, states=4), rng.random((4, 2))
    dense = MDP.dense(p, r, horizon=3, start=[0.5, 0, 0.5, 0])
    index = rng.permutation(np.argwhere(p >= 0))  # impossible ones are named too
    columns = (*index.T, p[tuple(index.T)])
    as_rows = [(*i, p[tuple(i)]) for i in index]
    for entries in (columns, as_rows, np.array(as_rows), iter(as_rows)):
        sparse = MDP.sparse(Shape(4, 2, 3), entries, r, start=[0.5, 0, 0.5, 0])
        for name in ("ptr", "succ", "prob", "cum", "rewards", "start", "start_cum"):
            np.testing.assert_array_equal(getattr(sparse, name), getattr(dense, name), name)


def test_rows_within_tolerance_are_kept_as_given_and_their_last_cumulative_entry_is_one():
    p = [0.1] * 10
    assert sum(p) != 1.0
    long = [0.5 + 4e-10, 0.5, 0, 0, 0, 0, 0, 0, 0, 0]
    world = MDP.dense(np.array([[p], *[[long]] * 9]), np.zeros((10, 1)), horizon=1)
    np.testing.assert_array_equal(world.successors(0, 0, 0)[1], p)
    np.testing.assert_array_equal(world.successors(0, 1, 0)[1], long[:2])
    np.testing.assert_array_equal(world.cum[world.ptr[1:] - 1], np.ones(10))


def test_rounding_gives_an_impossible_last_state_no_share_of_the_start():
    law = np.array([*[0.1] * 10, 0.0, 0.0])
    world = MDP.dense(np.full((12, 1, 12), 1 / 12), np.zeros((12, 1)), horizon=1, start=law)
    assert np.cumsum(law)[9] < 1.0
    np.testing.assert_array_equal(world.start, law)
    np.testing.assert_array_equal(world.start_cum[9:], [1, 1, 1])


def test_a_world_survives_pickling():
    world = MDP.sparse(SHAPE, ENTRIES, REWARDS, reward_draws="bernoulli")
    copy = pickle.loads(pickle.dumps(world))
    assert (copy.shape, copy.reward_draws) == (world.shape, "bernoulli")
    np.testing.assert_array_equal(copy.transition_table(), world.transition_table())


def test_a_sparse_world_never_holds_a_block_of_states_by_states():
    S = 20_000  # such a block would be 3 GiB
    s = np.arange(S)
    entries = (s, np.zeros(S, int), (s + 1) % S, np.ones(S))
    tracemalloc.start()
    world = MDP.sparse(Shape(S, 1, 100), entries, np.zeros((S, 1)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert world.succ.size == S
    assert peak < 20 * 2**20


def homogeneous(**changes):
    given = {"shape": SHAPE, "entries": ENTRIES, "rewards": REWARDS} | changes
    return MDP.sparse(given.pop("shape"), given.pop("entries"), given.pop("rewards"), **given)


def staged(h, entry):
    """Return stage-dependent entries with one entry of stage h replaced."""
    entries = [(i, *e) for i in range(3) for e in ENTRIES]
    return [entry if e[:4] == (h, *entry[1:4]) else e for e in entries]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"entries": [(0, 0, 1, 0.9), *ENTRIES[1:]]},
            r"^The probabilities of state 0, action 0 must sum to 1 within 1e-09, got 0\.9\.$",
        ),
        (
            {"entries": staged(2, (2, 1, 0, 1, 0.7))},
            r"^The probabilities of stage 2, state 1, action 0 must sum to 1 .*, got 0\.9",
        ),
        (
            {"entries": staged(1, (1, 1, 0, 1, -0.25))},
            r"^The probability of successor 1 of stage 1, state 1, action 0 must lie in \[0, 1\], "
            r"got -0\.25\.$",
        ),
        (
            {"entries": [(0, 0, 1, np.nan), *ENTRIES[1:]]},
            r"^The probability of successor 1 of state 0, action 0 must lie .*, got nan\.$",
        ),
        (
            {"entries": [*ENTRIES, (1, 0, 0, 0.0)]},
            r"^Successor 0 of state 1, action 0 must be given only once; add up its "
            r"probabilities in one entry\.$",
        ),
        (
            {"entries": [*ENTRIES, (2, 0, 0, 1.0)]},
            r"^state of entries\[3\] must be in 0 \.\. 1, got 2 in \(2, 0, 0, 1\)\.$",
        ),
        (
            {"entries": [(3, 0, 0, 0, 1.0)]},
            r"^stage of entries\[0\] must be in 0 \.\. 2, got 3 in \(3, 0, 0, 0, 1\)\.$",
        ),
        (
            {"entries": [(0.5, 0, 0, 1.0)]},
            r"^state of entries\[0\] must be in 0 \.\. 1, got 0\.5 in \(0\.5, 0, 0, 1\)\.$",
        ),
        (
            {"entries": [(0, 0, 1.0)]},
            r"^entries must have 4 columns \(s, a, y, p\) or 5 .*, got shapes \(1,\), \(1,\), ",
        ),
        (
            {"entries": (np.zeros(2), np.zeros(2), np.zeros(3), np.zeros(2))},
            r"^entries must have 4 columns .*, got shapes \(2,\), \(2,\), \(3,\), \(2,\)\.$",
        ),
        (
            {"rewards": [[0.0], [1.5]]},
            r"^rewards must lie in \[0, 1\], got 1\.5 at \[1, 0\]; map rewards ",
        ),
        (
            {"rewards": [[[0.0], [1.0]], [[0.0], [np.nan]], [[0.0], [1.0]]]},
            r"^rewards must lie .*, got nan at \[1, 1, 0\]; map rewards ",
        ),
        (
            {"rewards": np.zeros((2, 2, 1))},
            r"^rewards must have shape \(H, S, A\) = \(3, 2, 1\) or \(S, A\) = \(2, 1\), "
            r"got \(2, 2, 1\)\.$",
        ),
        ({"start": 2}, r"^start must lie in 0 \.\. 1, got 2\.$"),
        (
            {"start": 0.5},
            r"^start must be a state or a distribution over the 2 states, got 0\.5\.$",
        ),
        ({"start": True}, r"^start must be a state or a distribution .*, got True\.$"),
        ({"start": [1.0]}, r"^start must be a state or a distribution .*, got \[1\.0\]\.$"),
        ({"start": [1.25, -0.25]}, r"^start\[0\] must lie in \[0, 1\], got 1\.25\.$"),
        ({"start": [1.0, np.nan]}, r"^start\[1\] must lie in \[0, 1\], got nan\.$"),
        ({"start": [0.5, 0.25]}, r"^start must sum to 1 within 1e-09, got 0\.75\.$"),
        ({"reward_draws": "gaussian"}, r"^reward_draws must be one of .*, got 'gaussian'\.$"),
    ],
)
def test_bad_sparse_input_raises_an_error(changes, message):
    with pytest.raises(ValueError, match=message):
        homogeneous(**changes)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"transitions": np.ones((2, 1, 3)), "horizon": 2},
            r"^transitions must have shape \(S, A, S\) or \(H, S, A, S\), got \(2, 1, 3\)\.$",
        ),
        ({"transitions": np.ones((2, 2)), "horizon": 2}, r"^transitions must .* got \(2, 2\)\.$"),
        (
            {"transitions": np.ones((2, 0, 2)), "horizon": 2},
            r"^transitions must have shape .*, got \(2, 0, 2\)\.$",
        ),
        (
            {},
            r"^horizon is missing: transitions \(1, 1, 1\) and .* have no .* pass horizon=",
        ),
        (
            {"transitions": np.ones((3, 1, 1, 1)), "horizon": 2},
            r"and horizon=2 must agree on one number of steps, got \[2, 3\]\.$",
        ),
        (
            {"transitions": np.ones((3, 1, 1, 1)), "rewards": np.zeros((2, 1, 1))},
            r"^transitions \(3, 1, 1, 1\), rewards \(2, 1, 1\) and horizon=None must agree on",
        ),
        ({"rewards": np.zeros((1, 2)), "horizon": 1}, r"^rewards must have .*, got \(1, 2\)\.$"),
        ({"horizon": 0}, r"^horizon must be at least 1, got 0\.$"),
        (
            {"transitions": [[[np.nan]]], "horizon": 1},
            r"^The probability of successor 0 of state 0, action 0 must lie in .*, got nan\.$",
        ),
        (
            {"transitions": [[[[1.0]]], [[[0.5]]]]},
            r"^The probabilities of stage 1, state 0, action 0 must sum to 1 .*, got 0\.5\.$",
        ),
    ],
)
def test_bad_dense_input_raises_an_error(arguments, message):
    given = {"transitions": np.ones((1, 1, 1)), "rewards": np.zeros((1, 1))} | arguments
    with pytest.raises(ValueError, match=message):
        MDP.dense(given.pop("transitions"), given.pop("rewards"), **given)


def test_an_argument_that_is_not_numeric_raises_an_error_that_names_it():
    with pytest.raises(
        TypeError, match=r"^transitions must be a rectangular array of numbers, got "
    ):
        MDP.dense([[[1.0], [1.0, 2.0]]], [[0.0]], horizon=1)
    with pytest.raises(TypeError, match=r"^rewards must be a rectangular array of numbers, got "):
        MDP.dense([[[1.0]]], "none", horizon=1)
    with pytest.raises(TypeError, match=r"^entries must be a rectangular array of numbers, got "):
        MDP.sparse(SHAPE, [(0, 0, 0, 1.0), (1, 0, 0)], REWARDS)
    with pytest.raises(TypeError, match=r"^entries must be arrays of integers and, last, an"):
        MDP.sparse(SHAPE, (np.array(["first"]),) * 4, REWARDS)
    with pytest.raises(TypeError, match=r"^shape must be a Shape, got \(2, 1, 3\)\.$"):
        MDP.sparse((2, 1, 3), ENTRIES, REWARDS)


def test_successors_of_an_index_out_of_range_raise_an_error():
    world = MDP.sparse(SHAPE, ENTRIES, REWARDS)
    for place, message in (
        ((3, 0, 0), r"^The step must lie in 0 \.\. 2, got 3\.$"),
        ((0, 2, 0), r"^The state must lie in 0 \.\. 1, got 2\.$"),
        ((0, 0, -1), r"^The action must lie in 0 \.\. 0, got -1\.$"),
    ):
        with pytest.raises(ValueError, match=message):
            world.successors(*place)
