"""Plans from fixed counts, and learners that are driven by hand."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import belated as bl
from regression.bases import STEPWISE, UPDATERS, VARIANTS, base_of
from regression.digesting import Draws, digest

SHAPE = bl.Shape(4, 2, 3)
EPISODES = 2000
"""As the learner is told; so many make the alpha of lazy updating vary with the delay."""
ROUNDS = 9
REWARDS = np.array([[0.0, 0.125], [0.25, 0.0], [0.5, 0.75], [1.0, 0.375]])
PLANNED = [name for name in VARIANTS if name not in STEPWISE and name != "optimal"]
DRIVEN = (
    "ubev random ties",
    "ucbvi-bf two_term",
    "ucbvi-bf literal monotone",
    "ucrl2 exact",
    "kl-ucrl bonus",
    "chi2-ucrl practical",
    "psrl",
    "psrl update",
    "rlsvi",
    "q-learning hoeffding",
    "q-learning bernstein",
    "epsilon-greedy random ties",
)
UPDATING = ("active", "lazy 1", "lazy auto", "explicit rare", "explicit tau_max", "multi")
MANNERS: dict[str, dict[str, Any]] = {
    "known": {"rewards": REWARDS},
    "unknown": {"rewards": None, "reward_bonus": "bernstein"},
    "late rewards": {"rewards": None, "late": "rewards"},
}


def plan(variant: str) -> dict[str, str]:
    """Return the digests of plans from several tables of counts."""
    H, S, A = SHAPE.table
    found = {}
    for most in (1, 3, 40):
        draws = Draws(f"counts {most}")
        seen = draws.table(H, S, A, 1, below=3) > 0
        counts = draws.table(H, S, A, S, below=most + 1) * seen
        each = {"episodes": EPISODES, "seed": most}
        base = base_of(variant, SHAPE)
        rewards = draws.table(H, S, A, below=9) / 8
        planned = bl.plan(base, counts.sum(axis=3), counts, rewards, **each)
        found[f"each {most}"] = digest([planned.policy, planned.q, planned.v])
        planned = bl.plan(base, counts[0].sum(axis=2), counts[0], REWARDS, horizon=H, **each)
        found[f"pooled {most}"] = digest([planned.policy, planned.q, planned.v])
    return found


class Play:
    """A learner whose episodes are begun, and told of, in an order drawn beforehand."""

    def __init__(self, variant: str, updater: str, manner: str) -> None:
        self.draws = Draws(f"{variant} {updater} {manner}")
        self.late = MANNERS[manner].get("late") == "rewards"
        self.next = 1
        self.out: dict[int, list[int]] = {}  # the steps that are still to come, by id
        self.paths: dict[int, bl.Episode] = {}
        self.learner = bl.Learner(
            SHAPE,
            base=base_of(variant, SHAPE),
            updater=UPDATERS[updater],
            episodes=EPISODES,
            seed=self.draws.below(100),
            **MANNERS[manner],
        )

    def begin(self) -> bl.Episode:
        """Begin an episode and play it."""
        H, S = SHAPE.horizon, SHAPE.states
        policy, id = self.learner.start(self.next), self.next
        self.next += 1
        states = [self.draws.below(S) for _ in range(H + 1)]
        actions = [policy.action(h, states[h], self.draws.below(64) / 64) for h in range(H)]
        rewards = [self.draws.below(9) / 8 for _ in range(H)]
        self.out[id] = list(range(H))
        self.paths[id] = bl.Episode(id, states, actions, rewards)
        return self.paths[id]

    def step(self) -> list[bool]:
        """Begin a few episodes and tell of some of those that are out, each in one of two ways."""
        begun = [self.begin() for _ in range(1 + self.draws.below(4))]
        changed = []
        if self.late:
            changed.append(self.learner.observe_path(begun))
        whole: list[bl.Episode] = []
        steps: list[bl.Step] = []
        earned: dict[int, list[float]] = {}
        for id in list(self.out):
            left = self.out[id]
            choice = self.draws.below(4)
            if choice < 2:
                continue
            episode = self.paths[id]
            assert episode.rewards is not None
            told = left if choice == 3 else [left[self.draws.below(len(left))]]
            if self.late:
                earned[id] = [
                    float(episode.rewards[h]) if h in told else float("nan")
                    for h in range(SHAPE.horizon)
                ]
            elif len(told) == SHAPE.horizon:
                whole.append(episode)
            else:
                steps += [step_of(episode, h) for h in told]
            self.out[id] = [h for h in left if h not in told]
            if not self.out[id]:
                del self.out[id]
        if self.late:
            return [*changed, self.learner.observe_rewards(earned)]
        return [self.learner.observe(whole), self.learner.observe_steps(steps)]

    def seen(self) -> list[Any]:
        """Return all that can be asked of the learner."""
        learner, policy = self.learner, self.learner.policy
        status = learner.status
        return [
            policy.actions,
            policy.probabilities(SHAPE.actions),
            learner.value,
            [learner.observed, learner.missing, learner.updates, learner.epochs],
            [learner.instances, float(learner.alpha), float(learner.mean_delay)],
            [status.begun, status.observed, status.missing, status.exact],
            [float(status.mean_delay), float(status.psi), status.in_flight],
        ]


def step_of(episode: bl.Episode, h: int) -> bl.Step:
    """Return one step of an episode."""
    assert episode.rewards is not None
    states, actions = episode.states.tolist(), episode.actions.tolist()
    reward = float(episode.rewards[h])
    return bl.Step(episode.id, h, states[h], actions[h], states[h + 1], reward)


def drive(variant: str, updater: str, manner: str) -> list[str]:
    """Return a digest after each round; at two of them the learner is restored from a snapshot."""
    play = Play(variant, updater, manner)
    found = [digest(play.seen())]
    for number in range(ROUNDS):
        changed = play.step()
        if number in (3, 6):
            play.learner = bl.Learner.restore(play.learner.snapshot())
        found.append(digest([changed, play.seen()]))
    return found


PLANS: dict[str, Callable[[], Any]] = {name: partial(plan, name) for name in PLANNED}
LEARNERS: dict[str, Callable[[], Any]] = {
    f"{variant} | {updater} | {manner}": partial(drive, variant, updater, manner)
    for variant in DRIVEN
    for updater in UPDATING
    for manner in MANNERS
}
