"""A world of belated as a Gymnasium environment."""

from typing import Any

import gymnasium
from gymnasium.spaces import Discrete

from belated.episode import Floats
from belated.mdp.model import DRAWS, MDP, mean_reward, row_of
from belated.mdp.play import draw, draw_reward

Table = dict[int, dict[int, list[tuple[float, int, float, bool]]]]


class WorldEnv(gymnasium.Env[Any, Any]):
    """Observations are states, actions are actions, and rewards are the world's, in [0, 1].

    An episode is `terminated`, not truncated, by its H-th step: the horizon is part of the problem,
    and nothing of value comes after it. What is best depends on the step, which a state does not
    tell, so `info["step"]` does: how many steps of the episode are over.

    Randomness is Gymnasium's, from `reset(seed=...)` on, not the addressed one of `bl.simulate`.

    >>> from belated.mdp.chain import chain
    >>> env = WorldEnv(chain(3))
    >>> env.reset(seed=7)
    (0, {'step': 0})
    >>> env.step(0)
    (0, 0.0, False, False, {'step': 1})
    """

    metadata = {"render_modes": []}  # noqa: RUF012  (so Gymnasium declares it)

    def __init__(self, world: MDP) -> None:
        if not isinstance(world, MDP):
            raise TypeError(f"world is {world!r}; it must be an MDP.")
        self.world = world
        self._draws = DRAWS.index(world.reward_draws)
        self.observation_space = Discrete(world.shape.states)
        self.action_space = Discrete(world.shape.actions)
        self._state = 0
        self._step = world.shape.horizon

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Begin an episode; there are no options."""
        super().reset(seed=seed)
        world = self.world
        self._state = int(
            draw(world.start_cum, 0, world.shape.states, float(self.np_random.random()))
        )
        self._step = 0
        return self._state, {"step": 0}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Take a step."""
        world, h, s, a = self.world, self._step, self._state, int(action)
        if not 0 <= a < world.shape.actions:
            raise ValueError(f"The action is {action}; allowed are 0 .. {world.shape.actions - 1}.")
        if h == world.shape.horizon:
            raise gymnasium.error.ResetNeeded("The episode is over; call reset() to begin another.")
        mean = mean_reward(world.rewards, h, s, a)
        reward = float(draw_reward(self._draws, mean, float(self.np_random.random())))
        row = row_of(world.ptr, world.rewards, h, s, a)
        u = float(self.np_random.random())
        self._state = int(world.succ[draw(world.cum, world.ptr[row], world.ptr[row + 1], u)])
        self._step = h + 1
        over = self._step == world.shape.horizon
        return self._state, reward, over, False, {"step": self._step}

    @property
    def initial_state_distrib(self) -> Floats:
        """The law of the first state."""
        return self.world.start.copy()

    @property
    def P(self) -> Table:
        """P[state][action]: (probability, next state, mean reward, False) for each outcome.

        Only a world that is the same at every step has it. No outcome terminates: the horizon does.
        """
        world = self.world
        if not world.homogeneous or world.rewards.shape[0] > 1:
            raise AttributeError("P is for worlds that are the same at every step.")
        return {
            s: {a: self._row(s, a) for a in range(world.shape.actions)}
            for s in range(world.shape.states)
        }

    def _row(self, s: int, a: int) -> list[tuple[float, int, float, bool]]:
        succ, prob = self.world.successors(0, s, a)
        reward = float(self.world.rewards[0, s, a])
        return [(p, y, reward, False) for p, y in zip(prob.tolist(), succ.tolist(), strict=True)]
