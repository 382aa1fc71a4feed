"""The learner: feedback in, whenever it comes; a policy out, at any time.

The same learner runs in simulation and serves real episodes. It knows nothing of the world, the
truth or the delays, only of what has been observed.
"""

import heapq
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from typing import Any, Final, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from belated.episode import Episode, Floats, Policy, Shape, Step, check_id
from belated.learner.bases import BASES, PSRL
from belated.learner.bases.base import Base
from belated.learner.feedback import Parcel, earned, paid, path, single, whole
from belated.learner.ids import IdSet
from belated.learner.instance import Instance
from belated.learner.pending import Pending, restore_all, snapshot_all
from belated.learner.plan import Planner
from belated.learner.problem import Late, Planning, Problem, Stages
from belated.learner.rewards import RewardBonus
from belated.learner.status import Status
from belated.learner.updaters import UPDATERS, Lazy, MultiInstance
from belated.learner.updaters.explicit import Tally
from belated.learner.updaters.updater import Outset, Sight, Updater

F = TypeVar("F", Episode, Step)

FORMAT: Final = 3
"""Of snapshots."""


class Learner:
    """A base algorithm made to live with late feedback by an updater.

    - `shape`: states, actions and steps.
    - `base`: how to plan; a built-in base, your own, or any object with a `plan` method.
    - `updater`: when to plan.
    - `rewards`: the known mean rewards, (H, S, A) or (S, A), in [0, 1]; None if they are unknown
      and come with the feedback.
    - `episodes`: K, how many will be played; the bases' log terms need it beforehand.
    - `stages`: "each" step has counts of its own, or they are "pooled" where a world is the same
      at every step.
    - `planning`: plan only what changed, "incremental", or everything, "full"; the same to the bit.
    - `late`: what comes late: "everything", or only "rewards", when `observe_path` tells of an
      episode at its end and `observe_rewards` of what it earned. The updater then decides when
      the guesses of the rewards change; transitions are used at once.
    - `reward_bonus`: how much to hope for unknown rewards, see `belated.learner.rewards`.
    - `seed`: for whatever is drawn at random.

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
        rewards: ArrayLike | None,
        episodes: int,
        stages: Stages = "each",
        planning: Planning = "incremental",
        late: Late = "everything",
        reward_bonus: RewardBonus = "hoeffding",
        seed: int = 0,
    ) -> None:
        if not isinstance(updater, Updater):
            raise TypeError(f"updater is {updater!r}; it must be an Updater such as Active().")
        problem = Problem.of(
            shape,
            base,
            rewards,
            episodes=episodes,
            stages=stages,
            planning=planning,
            late=late,
            reward_bonus=reward_bonus,
            seed=seed,
        )
        self._set(problem, updater)
        self._begun = self._waited = 0
        self._used = 1
        self._stale = False
        self._instances = [self._fresh_instance(0)]
        self._policy = self._current()

    def _set(self, problem: Problem, updater: Updater) -> None:
        self._problem = problem
        self._updater = updater
        self._explorer = updater.explorer(problem.shape)
        self._multi = isinstance(updater, MultiInstance)
        self._restless = restless(problem.base, updater)
        self._seen = IdSet()
        self._open: dict[int, Pending] = {}  # what was begun, or has come in part
        self._free = [0]  # a heap of the instances that wait for nothing

    @property
    def shape(self) -> Shape:
        """States, actions and steps."""
        return self._problem.shape

    @property
    def policy(self) -> Policy:
        """What to play now."""
        self._redraw()
        return self._policy

    @property
    def value(self) -> Floats:
        """V~_1(s), the optimistic value of each state at the first step, of the policy above."""
        self._redraw()
        return self._next().table.v[0].copy()

    @property
    def observed(self) -> int:
        """How many episodes have come back."""
        return len(self._seen)

    @property
    def missing(self) -> int:
        """How many episodes were begun and have not come back, or not all of them."""
        return len(self._open)

    def pending(self, id: int) -> Pending | None:
        """Return the record of episode `id` while it is in flight, or None."""
        return self._open.get(id)

    @property
    def mean_delay(self) -> float:
        """The mean delay of the episodes begun, in episodes; those in flight as late as they are.

        Each start of an episode finds so many missing; the sum of those numbers is the sum of
        the delays so far.
        """
        return self._waited / self._begun if self._begun else 0.0

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

    @property
    def alpha(self) -> float:
        """The alpha of the current epoch under Lazy; inf otherwise."""
        return self._next().alpha

    @property
    def status(self) -> Status:
        """What is missing now, and how much that is."""
        base = self._problem.base
        return Status.of(
            begun=self._begun,
            observed=self.observed,
            pending=list(self._open.values()),
            mean_delay=self.mean_delay,
            episodes=self._problem.episodes,
            delta=base.delta if isinstance(base, Base) else 0.05,
            counts=np.sum([instance.late_counts for instance in self._instances], axis=0),
            shape=self.shape,
            stages=self._problem.count_stages,
        )

    def start(self, id: int) -> Policy:
        """Begin episode `id`: returns the policy to play it with, and expects its feedback.

        Only MultiInstance must be told, since it has to know which copy played what; the others
        keep count of what is missing and for how long.
        """
        id = check_id("id", id)
        if id in self._seen or id in self._open:
            raise ValueError(f"id {id} has begun already; give every episode an id of its own.")
        policy = self.policy
        owner = self._next().index
        self._waited += self.missing
        self._begun += 1
        self._open[id] = Pending(owner)
        if self._multi:
            heapq.heappop(self._free)
            self._used = max(self._used, owner + 1)
            self._policy = self._current()
        self._stale = self._restless
        return policy

    def observe(self, episodes: Iterable[Episode]) -> bool:
        """Take in feedback, in any order; returns whether the policy to play now has changed.

        Either all of the episodes are taken or, if one of them is refused, none.
        """
        return self.take(self._parcels(episodes, Episode, whole))

    def observe_steps(self, steps: Iterable[Step]) -> bool:
        """Take in single steps, each once, in any order; an episode is back when all have come."""
        return self.take(self._parcels(steps, Step, single))

    def observe_path(self, episodes: Iterable[Episode]) -> bool:
        """Take in what was done in episodes whose rewards are late."""
        if not self._problem.late_rewards:
            raise ValueError("observe_path needs a learner with late='rewards'.")
        return self.take(self._parcels(episodes, Episode, path))

    def observe_rewards(self, rewards: Mapping[int, ArrayLike]) -> bool:
        """Take in what the steps of an episode earned, by id; nan for what is still to come."""
        if not self._problem.late_rewards:
            raise ValueError("observe_rewards needs a learner with late='rewards'.")
        parcels = []
        for id, given in rewards.items():
            pending = self._open.get(check_id("id", id))
            if pending is None or pending.path is None:
                again = "has come back already" if id in self._seen else "is not known"
                raise ValueError(
                    f"The path of episode {id} {again}; call observe_path first, and this once."
                )
            parcels.append(paid(pending.path, earned(id, given, self.shape)))
        return self.take([parcel for parcel in parcels if parcel.steps.size])

    def _parcels(
        self, given: Iterable[F], kind: type[F], parcel: Callable[[F], Parcel]
    ) -> list[Parcel]:
        parcels = []
        for part in given:
            if not isinstance(part, kind):
                raise TypeError(f"Feedback is {part!r}; it must be of type {kind.__name__}.")
            part.check(self.shape)
            parcels.append(parcel(part))
        return parcels

    def take(self, parcels: list[Parcel]) -> bool:
        """Take in feedback of any kind at once: what the methods above do in the end."""
        self._check(parcels)
        if not parcels:
            return False
        by_instance: dict[int, list[Parcel]] = {}
        for parcel in parcels:
            pending = self._open.setdefault(parcel.id, Pending(0))
            by_instance.setdefault(pending.owner, []).append(parcel)
            pending.take(parcel)
            if parcel.late and self._explorer is not None:
                for h, s, a in zip(parcel.steps, parcel.states, parcel.actions, strict=True):
                    self._explorer.see(h, s, a)
            if pending.complete(self.shape.horizon):
                del self._open[parcel.id]
                self._seen.add(parcel.id)
                if self._multi:
                    heapq.heappush(self._free, pending.owner)
        for index, group in by_instance.items():
            self._feed(self._instances[index], group)
        before, self._policy = self._policy, self._current()
        if self._policy == before:
            self._policy = before
            return False
        return True

    def _check(self, parcels: list[Parcel]) -> None:
        """Refuse the whole batch if any of it is wrong, before any of it is taken."""
        batch: dict[int, Pending] = {}
        for parcel in parcels:
            if parcel.id in self._seen:
                raise ValueError(f"Episode {parcel.id} has come back already; it counts once.")
            if self._multi and parcel.id not in self._open:
                raise ValueError(
                    f"Episode {parcel.id} was not begun; MultiInstance must know which copy "
                    f"played it, so call start({parcel.id}) first."
                )
            if parcel.late and parcel.rewards is None and self._problem.rewards is None:
                raise ValueError(
                    f"Episode {parcel.id} comes without rewards; they are not known beforehand, "
                    "so the feedback must bring them."
                )
            pending = batch.get(parcel.id)
            if pending is None:
                pending = self._open.get(parcel.id, Pending(0)).copy()
                batch[parcel.id] = pending
            pending.take(parcel)

    def _feed(self, instance: Instance, parcels: list[Parcel]) -> None:
        late = sum(parcel.late for parcel in parcels)
        rows = instance.absorb(parcels)
        refresh = False
        if late:
            sight = Sight(
                instance.late_counts, instance.epoch, rows, late, instance.since, instance.alpha
            )
            refresh = self._updater.due(sight)
        told = self._problem.late_rewards and any(parcel.transitions for parcel in parcels)
        if refresh or (told and not instance.stepwise):
            self._plan(instance, refresh=refresh or self._restless)

    def _plan(self, instance: Instance, *, refresh: bool) -> None:
        instance.plan(refresh=refresh)
        if refresh:
            instance.alpha = self._pace()
        self._stale = False

    def _pace(self) -> float:
        base = self._problem.base
        name, delta = (base.name, base.delta) if isinstance(base, Base) else ("", 0.05)
        return self._updater.pace(
            Outset(self.shape, self._problem.episodes, name, delta, self.mean_delay)
        )

    def _redraw(self) -> None:
        """A base that draws for every episode has to, if nothing else made it."""
        if self._stale:
            self._plan(self._next(), refresh=True)
            self._policy = self._current()

    def _fresh_instance(self, index: int) -> Instance:
        instance = Instance(self._problem, index)
        instance.plan()
        instance.alpha = self._pace()
        return instance

    def _next(self) -> Instance:
        """The instance that plays the next episode."""
        if not self._free:
            heapq.heappush(self._free, len(self._instances))
            self._instances.append(self._fresh_instance(len(self._instances)))
        return self._instances[self._free[0]]

    def _current(self) -> Policy:
        base = self._problem.base
        epsilon = base.explores if isinstance(base, Base) else 0.0
        marks = None if self._explorer is None else self._explorer.marks()
        if epsilon > 0 and marks is None:
            marks = np.zeros(self.shape.table, np.bool_)
        actions = self._next().table.actions.copy()
        actions.setflags(write=False)
        return Policy(actions, marks, epsilon)

    def snapshot(self) -> dict[str, Any]:
        """The whole learner as plain arrays and numbers; `restore` goes on bit for bit."""
        problem = self._problem
        return {
            "format": FORMAT,
            "shape": [self.shape.states, self.shape.actions, self.shape.horizon],
            "base": _describe(problem.base, BASES),
            "updater": _describe(self._updater, UPDATERS),
            "rewards": None if problem.rewards is None else problem.rewards.copy(),
            "reward_bonus": problem.reward_bonus,
            "late": problem.late,
            "episodes": problem.episodes,
            "stages": problem.stages,
            "planning": problem.planning,
            "seed": int(problem.seed),
            "tally": self._explorer.seen.copy() if isinstance(self._explorer, Tally) else None,
            "seen": self._seen.snapshot(),
            "open": snapshot_all(self._open),
            "begun": self._begun,
            "waited": self._waited,
            "used": self._used,
            "stale": self._stale,
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
        if state.get("format") != FORMAT:
            raise ValueError(
                f"state has format {state.get('format')!r}; this version reads {FORMAT}."
            )
        self = cls.__new__(cls)
        updater = updater or cast(Updater, _rebuild("updater", state["updater"], UPDATERS))
        problem = Problem.of(
            Shape(*state["shape"]),
            base or cast(Base, _rebuild("base", state["base"], BASES)),
            state["rewards"],
            episodes=state["episodes"],
            stages=state["stages"],
            planning=state["planning"],
            late=state["late"],
            reward_bonus=state["reward_bonus"],
            seed=state["seed"],
        )
        self._set(problem, updater)
        if isinstance(self._explorer, Tally):
            self._explorer.seen[:] = state["tally"]
        self._seen = IdSet.restore(state["seen"])
        self._open = restore_all(state["open"])
        self._begun, self._waited = state["begun"], state["waited"]
        self._used, self._stale = state["used"], state["stale"]
        self._instances = [
            Instance.restore(problem, index, part) for index, part in enumerate(state["instances"])
        ]
        busy = {pending.owner for pending in self._open.values()} if self._multi else set()
        self._free = [index for index in range(len(self._instances)) if index not in busy]
        self._policy = self._current()
        return self


def restless(base: object, updater: Updater) -> bool:
    """Whether every episode has a plan of its own, come what may.

    A copy of MultiInstance has, since it waits for feedback before its next turn.
    """
    if not isinstance(base, PSRL) or isinstance(updater, MultiInstance):
        return False
    if base.resample == "auto":
        return not isinstance(updater, Lazy)
    return base.resample == "episode"


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
