"""The rules of where an episode ends and how its steps join."""

from belated.padding import find_break, find_end, find_move, find_reward, is_padding_after
from belated.shape import Shape

SHAPE = Shape(4, 2, 5, terminal=(3,))


def test_an_episode_ends_in_its_first_terminal_state() -> None:
    assert find_end([0, 1, 3, 3, 2], SHAPE) == 2
    assert find_end([0, 1, 2], SHAPE) is None


def test_padding_stays_in_the_terminal_state_without_a_reward() -> None:
    assert find_move([0, 3, 3, 2, 3], 1) == 3
    assert find_move([0, 3, 3], 1) is None
    assert find_reward({0: 0.5, 1: 0, 2: None, 3: 0.25}, 1) == 3
    assert find_reward({0: 0.5, 1: 0.0}, 1) is None


def test_single_padding_steps_follow_the_end_in_its_state() -> None:
    assert is_padding_after((2, 3), 2, 3)
    assert is_padding_after((2, 3), 4, 3)
    assert not is_padding_after((2, 3), 1, 3)
    assert not is_padding_after((2, 3), 2, 1)
    assert not is_padding_after(None, 4, 3)


def test_steps_join_where_each_begins_in_the_state_to_which_the_one_before_leads() -> None:
    steps = {0: (0, 1), 1: (2, 2), 3: (0, 1), 4: (0, 0)}
    assert find_break(steps) == 0
    assert find_break(steps, new=[4]) == 3
    assert find_break(steps, new=[2]) is None
    assert find_break({0: (0, 1), 1: (1, 2), 3: (0, 0)}) is None
