"""Gymnasium environment that simulates a world, and the registration of belated's worlds."""

from collections.abc import Callable
from typing import Any, Final

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete

from belated.episode import Floats
from belated.mdp.classics import chain, deep_sea, garnet, riverswim
from belated.mdp.gridworld import gridworld
from belated.mdp.model import DRAWS, MDP, draw, draw_reward, mean_reward, row_of

ENVIRONMENTS: Final[dict[str, tuple[Callable[..., MDP], dict[str, Any]]]] = {
    "belated/Chain-v0": (lambda states, **options: chain(states, **options), {"states": 30}),
    "belated/RiverSwim-v0": (riverswim, {"states": 6}),
    "belated/DeepSea-v0": (deep_sea, {"size": 10}),
    "belated/Garnet-v0": (garnet, {"states": 20, "actions": 3, "horizon": 10, "branching": 4}),
    "belated/GridWorld-v0": (gridworld, {"rows": 5, "columns": 5, "horizon": 20}),
}
"""Map from the id of each registered environment to the function that returns its world, and the
default arguments of this function."""

Outcomes = list[tuple[float, int, float, bool]]
"""List of the possible outcomes of a step. Each outcome is a tuple (probability, next state, mean
reward, terminated)."""


class WorldEnv(gymnasium.Env[Any, Any]):
    """Gymnasium environment that simulates a world.

    Observations are states, and rewards lie in [0, 1]. An episode ends with `terminated` when it
    reaches a terminal state, and at the H-th step: the horizon is part of the problem, so that the
    episode is not `truncated`. `info["step"]` is the number of steps taken in the episode; the
    optimal action depends on this number. If the world forbids actions, `info["action_mask"]` is
    the mask of the allowed ones, for `env.action_space.sample(mask=...)`. Random numbers come from
    Gymnasium's generator, seeded by `reset(seed=...)`. They differ from the random numbers of
    `bl.simulate`.

    Parameters
    ----------
    world : MDP
        World to simulate. The attribute `world` of the environment holds it.

    Examples
    --------
    >>> from belated.mdp.classics import chain
    >>> env = WorldEnv(chain(3))
    >>> env.reset(seed=7)
    (0, {'step': 0})
    >>> env.step(0)
    (0, 0.0, False, False, {'step': 1})
    """

    metadata = {"render_modes": []}  # noqa: RUF012  (so Gymnasium declares it)

    def __init__(self, world: MDP) -> None:
        if not isinstance(world, MDP):
            raise TypeError(f"world must be an MDP, got {world!r}.")
        self.world = world
        self._draws = DRAWS.index(world.reward_draws)
        self.observation_space = Discrete(world.shape.states)
        self.action_space = Discrete(world.shape.actions)
        self._state = 0
        self._step = 0
        self._over = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Start an episode and return its first state and `info`.

        If `seed` is given, the random generator is seeded with it. `options` is ignored.
        """
        super().reset(seed=seed)
        world = self.world
        u = float(self.np_random.random())
        self._state = int(draw(world.start_cum, 0, world.shape.states, u))
        self._step = 0
        self._over = False
        return self._state, self._info()

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Take `action` and return (next state, reward, terminated, truncated, info)."""
        world, h, s, a = self.world, self._step, self._state, int(action)
        if not 0 <= a < world.shape.actions:
            raise ValueError(f"action must be in 0 .. {world.shape.actions - 1}, got {action}.")
        if self._over:
            raise gymnasium.error.ResetNeeded("The episode is over; call reset() to start another.")
        world.shape.check_action("action", h, s, a)
        mean = mean_reward(world.rewards, h, s, a)
        reward = float(draw_reward(self._draws, mean, float(self.np_random.random())))
        row = row_of(world.ptr, world.rewards, h, s, a)
        u = float(self.np_random.random())
        self._state = int(world.succ[draw(world.cum, world.ptr[row], world.ptr[row + 1], u)])
        self._step = h + 1
        self._over = self._step == world.shape.horizon or self._state in world.shape.terminal
        return self._state, reward, self._over, False, self._info()

    def _info(self) -> dict[str, Any]:
        shape, info = self.world.shape, {"step": self._step}
        if shape.allowed is None:
            return info
        h = min(self._step, shape.horizon - 1)  # there is no action after the last step
        return info | {"action_mask": shape.allowed[h, self._state].astype(np.int8)}

    @property
    def initial_state_distrib(self) -> Floats:
        """Probability of each state to be the first of an episode; shape (S,)."""
        return self.world.start.copy()

    @property
    def P(self) -> dict[int, dict[int, Outcomes]]:
        """Table of transitions: P[state][action] is the list of possible outcomes.

        In an outcome, `terminated` tells whether the next state is terminal; the end of an episode
        by the horizon is not in the table. The table exists only for a time-homogeneous world whose
        actions are all allowed; otherwise AttributeError is raised.
        """
        world = self.world
        if not world.homogeneous or world.rewards.shape[0] > 1:
            raise AttributeError(
                "P exists only for worlds whose transitions and rewards are the same at every step."
            )
        if world.shape.allowed is not None:
            raise AttributeError("P exists only for worlds in which all actions are allowed.")
        table: dict[int, dict[int, Outcomes]] = {s: {} for s in range(world.shape.states)}
        for s, a in np.ndindex(world.shape.states, world.shape.actions):
            succ, prob = world.successors(0, s, a)
            reward = float(world.rewards[0, s, a])
            moves = zip(prob.tolist(), succ.tolist(), strict=True)
            table[s][a] = [(p, y, reward, y in world.shape.terminal) for p, y in moves]
        return table


def register() -> None:
    """Register the environments in `ENVIRONMENTS` that are not registered yet."""
    for id, (_, defaults) in ENVIRONMENTS.items():
        if id not in gymnasium.registry:
            given = {"world": id, **defaults}
            gymnasium.register(id, entry_point=f"{__name__}:make_env", kwargs=given)


def make_env(world: str, **options: Any) -> WorldEnv:
    """Return the environment that is registered with the id `world`."""
    return WorldEnv(ENVIRONMENTS[world][0](**options))
