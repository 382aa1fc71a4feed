"""What a learner is told before the first episode."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from belated.episode import Floats, Shape, check_integer
from belated.learner.bases.base import Base, Kernel, check_choice, kernel_of
from belated.learner.plan import Planner, check_rewards
from belated.learner.rewards import BONUSES, KNOWN, MEAN, SAMPLE, Hope, RewardBonus, optimistic
from belated.randomness import check_seed

Stages = Literal["each", "pooled"]
Planning = Literal["incremental", "full"]
Late = Literal["everything", "rewards"]


@dataclass(frozen=True, eq=False)
class Problem:
    """A shape, a base to plan with, what is known of the rewards, and how to count and plan."""

    shape: Shape
    base: Base | Planner
    rewards: Floats | None  # None: unknown
    reward_bonus: RewardBonus
    late: Late
    episodes: int
    stages: Stages
    planning: Planning
    seed: np.uint64

    @classmethod
    def of(
        cls,
        shape: Shape,
        base: Base | Planner,
        rewards: ArrayLike | None,
        *,
        episodes: int,
        reward_bonus: RewardBonus = "hoeffding",
        late: Late = "everything",
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
        check_choice("reward_bonus", reward_bonus, BONUSES)
        check_choice("late", late, ("everything", "rewards"))
        if late == "rewards" and rewards is not None:
            raise ValueError(
                "late is 'rewards', but the rewards are known, so nothing would be late; "
                "give rewards=None."
            )
        if isinstance(base, Base) and base.stepwise and stages == "pooled":
            raise ValueError(
                f"stages is 'pooled', but {base.name} learns each step apart; use 'each'."
            )
        return cls(
            shape,
            base,
            None if rewards is None else check_rewards(rewards, shape),
            reward_bonus,
            late,
            check_integer("episodes", episodes, 1),
            stages,
            planning,
            np.uint64(check_seed(seed)),
        )

    @property
    def count_stages(self) -> int:
        """How many stages are counted apart."""
        return 1 if self.stages == "pooled" else self.shape.horizon

    @property
    def rows(self) -> int:
        """How many (stage, state, action) are counted apart."""
        return self.count_stages * self.shape.states * self.shape.actions

    @property
    def late_rewards(self) -> bool:
        """Whether only rewards are late, and a path is known when it has been played."""
        return self.late == "rewards"

    @cached_property
    def kernel(self) -> Kernel:
        """The base's kernel; half of its delta is for rewards where those are unknown."""
        assert isinstance(self.base, Base)
        base = self.base
        if self.rewards is None:
            base = replace(base, delta=base.delta / 2)
        return kernel_of(base, self.shape, self.episodes)

    @cached_property
    def hope(self) -> Hope:
        """How rewards are guessed."""
        if self.rewards is not None:
            return Hope(KNOWN, 0.0, 0.0, self.seed)
        base = self.base
        scale, delta = (base.scale, base.delta) if isinstance(base, Base) else (1.0, 0.05)
        kind, number = optimistic(self.reward_bonus, self.shape, self.episodes, delta / 2)
        if isinstance(base, Base) and base.hopes != "bonus":
            kind = MEAN if base.hopes == "mean" else SAMPLE
        return Hope(kind, number, float(scale), self.seed)

    def first_rewards(self) -> Floats:
        """(H, S * A): the known rewards, or what is hoped for before anything has come."""
        H, S, A = self.shape.table
        if self.rewards is not None:
            return self.rewards.reshape(H, S * A).copy()
        return np.full((H, S * A), 0.0 if self.hope.kind == MEAN else 1.0)
