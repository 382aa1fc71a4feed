"""The record of a learner, whose types are the same for all, so that it is passed by pointer."""

from itertools import cycle
from typing import Any

import numba
import numpy as np
import pytest

import belated as bl
from belated.learner.bases import BASES, OPTIMISTIC, BaseAlgorithm
from belated.learner.bases.baselines import Fixed
from belated.learner.problem import LearningProblem
from belated.learner.state import LearnerRecord, configure, empty_state, with_room_for

SHAPES = {
    "plain": bl.Shape(3, 2, 2),
    "terminal": bl.Shape(3, 2, 2, terminal=[2]),
    "allowed": bl.Shape(3, 2, 2, allowed={0: [1]}),
    "both": bl.Shape(3, 2, 2, terminal=[1], allowed={0: [1]}),
}
UPDATERS = {
    "active": bl.Active(),
    "lazy": bl.Lazy(2),
    "auto": bl.Lazy("auto"),
    "explicit": bl.ExplicitExploration(threshold=3),
    "explicit rare": bl.ExplicitExploration(threshold=3, draw="rare", pooled=False),
    "multi": bl.MultiInstance(),
    "batched": bl.Batched(),
    "scheduled": bl.Scheduled(5),
    "matured": bl.Matured(bl.Batched(2), age=4),
}
BASE_OF: dict[str, BaseAlgorithm] = {
    name: base() for name, base in BASES.items() if name not in ("fixed", "optimal")
} | {
    "fixed": Fixed(actions=np.array([[1, 0, 0], [1, 0, 0]])),
    "ties": bl.UCRL2(ties="random"),
    "monotone": bl.UCBVI_BF(monotone=True),
    **{f"{name} bonus": OPTIMISTIC[name](form="bonus") for name in ("ucrl2b", "chi2-ucrl")},
}


def type_of(shape: bl.Shape, **options: Any) -> tuple[Any, LearningProblem]:
    """Return the numba type of the record of a new learner, and its problem."""
    problem = LearningProblem(shape=shape, episodes=9, **options)
    return numba.typeof(LearnerRecord(configure(problem, 0), empty_state(problem))), problem


@pytest.mark.parametrize("base", BASE_OF)
def test_the_records_of_all_learners_have_one_type(base: str) -> None:
    expected, _ = type_of(
        SHAPES["plain"], base=bl.UCRL2(), updater=bl.Active(), rewards=np.zeros((3, 2))
    )
    for shape, updater in zip(cycle(SHAPES.values()), UPDATERS.values(), strict=False):
        for stages in ("each",) if BASE_OF[base].stepwise else ("each", "pooled"):
            options = {"base": BASE_OF[base], "updater": updater, "stages": stages}
            known, _ = type_of(shape, rewards=np.zeros((3, 2)), **options)
            assert known == expected
            late = "everything" if updater.multi_instance else "rewards"
            unknown, problem = type_of(shape, rewards=None, late=late, **options)
            assert unknown == expected
    larger = with_room_for(empty_state(problem), 1000)
    assert numba.typeof(LearnerRecord(configure(problem, 0), larger)) == expected
