"""What a learner is told before the first episode."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from belated.episode import Floats, Shape, check_integer
from belated.learner.bases.base import Base, check_choice
from belated.learner.plan import Planner, check_rewards
from belated.randomness import check_seed

Stages = Literal["each", "pooled"]
Planning = Literal["incremental", "full"]


@dataclass(frozen=True, eq=False)
class Problem:
    """A shape, known rewards, a base to plan with, and how to count and plan."""

    shape: Shape
    base: Base | Planner
    rewards: Floats
    episodes: int
    stages: Stages
    planning: Planning
    seed: np.uint64

    @classmethod
    def of(
        cls,
        shape: Shape,
        base: Base | Planner,
        rewards: ArrayLike,
        *,
        episodes: int,
        stages: Stages,
        planning: Planning,
        seed: int,
    ) -> "Problem":
        """Check everything, once."""
        if not isinstance(base, Base | Planner):
            raise TypeError(
                f"base is {base!r}; it must be a Base, or an object with a plan method."
            )
        if not isinstance(shape, Shape):
            raise TypeError(f"shape is {shape!r}; it must be a Shape(states, actions, horizon).")
        check_choice("stages", stages, ("each", "pooled"))
        check_choice("planning", planning, ("incremental", "full"))
        return cls(
            shape,
            base,
            check_rewards(rewards, shape),
            check_integer("episodes", episodes, 1),
            stages,
            planning,
            np.uint64(check_seed(seed)),
        )

    @property
    def count_stages(self) -> int:
        """How many stages are counted apart."""
        return 1 if self.stages == "pooled" else self.shape.horizon
