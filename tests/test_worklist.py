"""Worklists against Python sets, one for each group."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated.worklist import (
    ABSENT,
    END,
    Worklist,
    clear,
    empty_worklist,
    members,
    put,
    take,
)

pytestmark = pytest.mark.plain

GROUPS, ITEMS = 3, 12
operations = st.lists(
    st.tuples(st.sampled_from(["put", "take"]), st.integers(0, GROUPS - 1), st.integers(0, 11))
    | st.tuples(st.just("clear"), st.just(0), st.just(0)),
    max_size=60,
)


def groups_of(worklist: Worklist) -> list[list[int]]:
    """Return the items of each group, in the order of the linked list."""
    groups = []
    for first in worklist.head:
        group, item = [], first
        while item != END:
            group.append(int(item))
            item = worklist.after[item]
        groups.append(group)
    return groups


@given(operations)
def test_a_worklist_is_one_stack_of_different_items_for_each_group(script: list[tuple]) -> None:
    worklist = empty_worklist(groups=GROUPS, items=ITEMS)
    model: list[list[int]] = [[] for _ in range(GROUPS)]
    for operation, group, item in script:
        if operation == "put":
            absent = all(item not in stack for stack in model)
            assert put(worklist, group, item) == absent
            if absent:
                model[group].insert(0, item)
        elif operation == "take":
            assert take(worklist, group) == (model[group].pop(0) if model[group] else END)
        else:
            clear(worklist)
            model = [[] for _ in range(GROUPS)]
        assert groups_of(worklist) == model
        held = sorted(item for stack in model for item in stack)
        assert members(worklist).tolist() == held
        absent_items = np.flatnonzero(worklist.after == ABSENT).tolist()
        assert sorted(held + absent_items) == list(range(ITEMS))
