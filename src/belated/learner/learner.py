"""The learner: feedback in, whenever it comes; a policy out, at any time.

The same learner runs in simulation and serves real episodes. It knows nothing of the world, the
truth or the delays, only of what has been observed.
"""

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from belated.episode import Episode, Floats, Policy, Shape, check_id
from belated.learner.bases import BASES
from belated.learner.bases.base import Base
from belated.learner.ids import IdSet
from belated.learner.instance import Instance
from belated.learner.plan import Planner
from belated.learner.problem import Planning, Problem, Stages
from belated.learner.updaters import UPDATERS
from belated.learner.updaters.explicit import Tally
from belated.learner.updaters.multi import MultiInstance
from belated.learner.updaters.updater import Sight, Updater


class Learner:
    """A base algorithm made to live with late feedback by an updater.

    - `shape`: states, actions and steps.
    - `base`: how to plan; a built-in base, your own, or any object with a `plan` method.
    - `updater`: when to plan.
    - `rewards`: the known mean rewards, (H, S, A) or (S, A), in [0, 1].
    - `episodes`: K, how many will be played; the bases' log terms need it beforehand.
    - `stages`: "each" step has counts of its own, or they are "pooled" where a world is the same
      at every step.
    - `planning`: plan only what changed, "incremental", or everything, "full"; the same to the bit.
    - `seed`: for ties="random".

    >>> from belated.learner.bases import UCRL2
    >>> from belated.learner.updaters import Active
    >>> learner = Learner(Shape(2, 2, 1), base=UCRL2(), updater=Active(),
    ...                   rewards=[[0, 0], [0, 1]], episodes=10)
    >>> learner.policy.actions.tolist()
    [[0, 1]]
    >>> learner.observe([Episode(1, states=[0, 1], actions=[0])])
    False
    """

    def __init__(
        self,
        shape: Shape,
        *,
        base: Base | Planner,
        updater: Updater,
        rewards: ArrayLike,
        episodes: int,
        stages: Stages = "each",
        planning: Planning = "incremental",
        seed: int = 0,
    ) -> None:
        if not isinstance(updater, Updater):
            raise TypeError(f"updater is {updater!r}; it must be an Updater such as Active().")
        self._problem = Problem.of(
            shape, base, rewards, episodes=episodes, stages=stages, planning=planning, seed=seed
        )
        self._updater = updater
        self._explorer = updater.explorer(self._problem.shape)
        self._instances = [Instance(self._problem, 0)]
        self._seen = IdSet()
        self._owner: dict[int, int] = {}  # episodes begun and not yet returned -> their instance
        self._free = [0]  # a heap of the instances that wait for nothing
        self._used = 1  # instances that have played
        self._policy = self._current()

    @property
    def shape(self) -> Shape:
        """States, actions and steps."""
        return self._problem.shape

    @property
    def policy(self) -> Policy:
        """What to play now."""
        return self._policy

    @property
    def value(self) -> Floats:
        """V~_1(s), the optimistic value of each state at the first step, of the policy above."""
        return self._next().table.v[0].copy()

    @property
    def observed(self) -> int:
        """How many episodes have come back."""
        return len(self._seen)

    @property
    def missing(self) -> int:
        """How many episodes were begun and have not come back."""
        return len(self._owner)

    @property
    def updates(self) -> int:
        """How many times it has planned since it was made, over all instances."""
        return self.epochs - self.instances

    @property
    def epochs(self) -> int:
        """How many policies it has had; the first one, made of no data, counts."""
        return sum(instance.plans for instance in self._instances[: self._used])

    @property
    def instances(self) -> int:
        """How many copies of the base there are: one, except with MultiInstance."""
        return self._used

    def start(self, id: int) -> Policy:
        """Begin episode `id`: returns the policy to play it with, and expects its feedback.

        Only MultiInstance must be told, since it has to know which copy played what; for the
        others this keeps count of what is missing.
        """
        id = check_id("id", id)
        if id in self._seen or id in self._owner:
            raise ValueError(f"id {id} has begun already; give every episode an id of its own.")
        policy = self._policy
        owner = self._next().index
        self._owner[id] = owner
        if isinstance(self._updater, MultiInstance):
            heapq.heappop(self._free)
            self._used = max(self._used, owner + 1)
            self._policy = self._current()
        return policy

    def observe(self, episodes: Iterable[Episode]) -> bool:
        """Take in feedback, in any order; returns whether the policy to play now has changed.

        Either all of the episodes are taken or, if one of them is refused, none.
        """
        batch = list(episodes)
        self._check(batch)
        if not batch:
            return False
        by_instance: dict[int, list[Episode]] = {}
        for episode in batch:
            owner = self._owner.pop(episode.id, 0)
            if isinstance(self._updater, MultiInstance):
                heapq.heappush(self._free, owner)
            by_instance.setdefault(owner, []).append(episode)
            self._seen.add(episode.id)
            if self._explorer is not None:
                self._explorer.see(episode.states, episode.actions)
        for index, group in by_instance.items():
            self._feed(self._instances[index], group)
        before, self._policy = self._policy, self._current()
        if self._policy == before:
            self._policy = before
            return False
        return True

    def _check(self, batch: list[Episode]) -> None:
        ids = set()
        for episode in batch:
            if not isinstance(episode, Episode):
                raise TypeError(f"observe takes episodes, not {episode!r}.")
            episode.check(self.shape)
            if episode.id in self._seen or episode.id in ids:
                raise ValueError(f"Episode {episode.id} has come back already; it counts once.")
            if isinstance(self._updater, MultiInstance) and episode.id not in self._owner:
                raise ValueError(
                    f"Episode {episode.id} was not begun; MultiInstance must know which copy "
                    f"played it, so call start({episode.id}) first."
                )
            ids.add(episode.id)

    def _feed(self, instance: Instance, episodes: list[Episode]) -> None:
        touched = instance.absorb(episodes)
        sight = Sight(instance.counts.n, instance.epoch, touched, len(episodes), instance.since)
        if self._updater.due(sight):
            instance.plan()

    def _next(self) -> Instance:
        """The instance that plays the next episode."""
        if not self._free:
            heapq.heappush(self._free, len(self._instances))
            self._instances.append(Instance(self._problem, len(self._instances)))
        return self._instances[self._free[0]]

    def _current(self) -> Policy:
        marks = None if self._explorer is None else self._explorer.marks()
        actions = self._next().table.actions.copy()
        actions.setflags(write=False)
        return Policy(actions, marks)

    def snapshot(self) -> dict[str, Any]:
        """The whole learner as plain arrays and numbers; `restore` goes on bit for bit."""
        problem = self._problem
        return {
            "format": 1,
            "shape": [self.shape.states, self.shape.actions, self.shape.horizon],
            "base": _describe(problem.base, BASES),
            "updater": _describe(self._updater, UPDATERS),
            "rewards": problem.rewards.copy(),
            "episodes": problem.episodes,
            "stages": problem.stages,
            "planning": problem.planning,
            "seed": int(problem.seed),
            "tally": self._explorer.seen.copy() if isinstance(self._explorer, Tally) else None,
            "seen": self._seen.snapshot(),
            "begun": np.array(list(self._owner.items()), np.int64).reshape(-1, 2),
            "used": self._used,
            "instances": [instance.snapshot() for instance in self._instances],
        }

    @classmethod
    def restore(
        cls,
        state: dict[str, Any],
        *,
        base: Base | Planner | None = None,
        updater: Updater | None = None,
    ) -> "Learner":
        """The learner as it was; give `base` or `updater` again if they are your own."""
        if state.get("format") != 1:
            raise ValueError(f"state has format {state.get('format')!r}; this version reads 1.")
        self = cls.__new__(cls)
        self._updater = updater or cast(Updater, _rebuild("updater", state["updater"], UPDATERS))
        self._problem = Problem.of(
            Shape(*state["shape"]),
            base or cast(Base, _rebuild("base", state["base"], BASES)),
            state["rewards"],
            episodes=state["episodes"],
            stages=state["stages"],
            planning=state["planning"],
            seed=state["seed"],
        )
        self._explorer = self._updater.explorer(self._problem.shape)
        if isinstance(self._explorer, Tally):
            self._explorer.seen[:] = state["tally"]
        self._seen = IdSet.restore(state["seen"])
        self._owner = {int(id): int(owner) for id, owner in state["begun"]}
        self._instances = [
            Instance.restore(self._problem, index, part)
            for index, part in enumerate(state["instances"])
        ]
        multi = isinstance(self._updater, MultiInstance)
        busy = set(self._owner.values()) if multi else set()
        self._free = [index for index in range(len(self._instances)) if index not in busy]
        self._used = state["used"]
        self._policy = self._current()
        return self


def _describe(part: object, known: Mapping[str, type]) -> dict[str, Any]:
    name = getattr(part, "name", type(part).__name__)
    if known.get(name) is not type(part):
        return {"name": type(part).__name__ if name in known else name, "options": None}
    return {"name": name, "options": asdict(part)}  # type: ignore[call-overload]


def _rebuild(what: str, described: dict[str, Any], known: Mapping[str, Any]) -> object:
    name, options = described["name"], described["options"]
    if options is None:
        raise ValueError(f"The {what} {name!r} is not built in; pass it as restore(..., {what}=).")
    return known[name](**options)
