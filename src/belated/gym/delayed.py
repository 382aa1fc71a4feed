"""DelayedFeedback: an environment whose finished episodes come back late."""

from typing import Any, SupportsFloat

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete
from gymnasium.utils import RecordConstructorArgs

from belated.delays.laws import NEVER, Law
from belated.delays.queue import Queue
from belated.episode import Episode, Shape, check_integer
from belated.gym.environment import WorldEnv
from belated.mdp.rewards import Affine
from belated.randomness import check_seed

Info = dict[str, Any]


class DelayedFeedback(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Every episode comes back as a record, late, in the `info` of a later `reset`.

    - `delay`: how late. Episodes count from 1; episode i with delay tau is in `info["feedback"]`
      of the reset that begins the first episode k with i + tau < k. In the `info` of a step the
      list is empty.
    - `seed`: of the delays. `reset(seed=...)` seeds the environment alone and goes on counting.
    - `horizon`: H, the steps of a record; the environment's own limit unless given. An episode
      that goes on beyond it is truncated there.
    - `reward_map`: under which records carry rewards in [0, 1]. Steps pay what they always paid.
    - `end_state`: whether the end is a state of its own, the last.

    An episode that terminates before step H is filled up: it stays in the state in which it ended
    and earns 0 in original units. Filled steps take each action in turn, from one end in a state
    to the next, since no action may remain unexplored there: an optimist would hope for it.
    Where that state may also be passed through, staying in it would be a lie; this is refused when
    it is seen, and `end_state=True` helps. An episode that is reset after some steps never
    returns; one without a step has not been played, and its number goes to the next.

    >>> from belated.delays import constant
    >>> from belated.mdp.chain import chain
    >>> env = DelayedFeedback(WorldEnv(chain(2)), constant(1))
    >>> for k in (1, 2, 3):
    ...     _, info = env.reset(seed=k)
    ...     print(k, [episode.id for episode in info["feedback"]])
    ...     _ = env.step(0), env.step(0)
    1 []
    2 []
    3 [1]
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        delay: Law,
        *,
        seed: int = 0,
        horizon: int | None = None,
        reward_map: Affine = Affine(),  # noqa: B008  (it is frozen)
        end_state: bool = False,
    ) -> None:
        if not isinstance(env, gymnasium.Env):
            raise TypeError(f"env is {env!r}; it must be a Gymnasium environment.")
        if not isinstance(delay, Law):
            raise TypeError(f"delay is {delay!r}; it must be a law of belated.delays.")
        if not isinstance(reward_map, Affine):
            raise TypeError(f"reward_map is {reward_map!r}; it must be an Affine map.")
        RecordConstructorArgs.__init__(
            self,
            delay=delay,
            seed=seed,
            horizon=horizon,
            reward_map=reward_map,
            end_state=end_state,
        )
        super().__init__(env)
        states, actions = _discrete("observation", env), _discrete("action", env)
        self._delay = delay
        self._seed = check_seed(seed)
        self._map = reward_map
        self._end_state = end_state
        self._first_state, self._first_action = int(states.start), int(actions.start)
        self._shape = Shape(int(states.n) + end_state, int(actions.n), _horizon(env, horizon))
        self._passed = np.zeros(self._shape.states, np.bool_)
        self._ended = np.zeros(self._shape.states, np.int64)
        self._queue: Queue[Episode] = Queue()
        self._number = 0
        self._over = True
        self._states: list[int] = []
        self._actions: list[int] = []
        self._rewards: list[float] = []

    @property
    def shape(self) -> Shape:
        """The size of the problem that the records are of; it counts a state for the end."""
        return self._shape

    @property
    def episode(self) -> int:
        """The number of the episode under way, or of the last; 0 before the first."""
        return self._number

    @property
    def missing(self) -> int:
        """How many episodes have been played and have not come back."""
        return self._queue.missing

    def state(self, observation: Any) -> int:
        """The state, from 0 on, that an observation stands for."""
        return int(observation) - self._first_state

    def action(self, index: int) -> int:
        """What `step` takes for the action that a policy calls `index`."""
        return index + self._first_action

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Any, Info]:
        """Begin the next episode; `info["feedback"]` is the records that are usable by now."""
        observation, info = self.env.reset(seed=seed, options=options)
        if self._actions and not self._over:
            self._send(NEVER)
        if self._actions or self._number == 0:
            self._number += 1
        self._over = False
        self._states, self._actions, self._rewards = [self.state(observation)], [], []
        return observation, {**info, "feedback": self._queue.due(self._number)}

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, Info]:
        """Take a step, and send the record off if it was the last."""
        if self._over:
            raise gymnasium.error.ResetNeeded("The episode is over; call reset() to begin another.")
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._passed[self._states[-1]] = True
        self._actions.append(int(action) - self._first_action)
        self._rewards.append(self._unit(float(reward)))
        own_end = terminated and self._end_state
        self._states.append(self._shape.states - 1 if own_end else self.state(observation))
        H = self._shape.horizon
        if truncated and not terminated and len(self._actions) < H:
            raise ValueError(
                f"The environment cut episode {self._number} off after {len(self._actions)} steps; "
                f"horizon is {H}, and it must be at most as many."
            )
        if terminated:
            self._fill()
        if len(self._actions) == H:
            truncated = not terminated
            self._over = True
            tau = self._delay.draw(seed=self._seed, episodes=1, first=self._number)
            self._send(int(tau[0]))
        return observation, reward, terminated, truncated, {**info, "feedback": []}

    def _fill(self) -> None:
        """Let an episode that has terminated stay where it is until the horizon."""
        more = self._shape.horizon - len(self._actions)
        if more == 0:
            return
        state = self._states[-1]
        self._states += [state] * more
        self._actions += [int(self._ended[state]) % self._shape.actions] * more
        self._rewards += [self._unit(0.0)] * more
        self._ended[state] += 1

    def _send(self, delay: int) -> None:
        for state in np.flatnonzero(self._passed & (self._ended > 0))[:1]:
            raise ValueError(
                f"State {state} was passed through and also ended an episode early; "
                "give DelayedFeedback end_state=True, so that the end is a state of its own."
            )
        record = Episode(self._number, self._states, self._actions, self._rewards)
        self._queue.push(record, delay)

    def _unit(self, reward: float) -> float:
        unit = self._map.unit(reward)
        if not 0 <= unit <= 1:
            raise ValueError(
                f"A reward of {reward:g} is {unit:g} under reward_map; give DelayedFeedback "
                "reward_map=Affine.onto(low, high) with every reward between low and high, "
                "and 0 too if an episode may end early."
            )
        return unit


def _discrete(kind: str, env: gymnasium.Env[Any, Any]) -> Discrete[Any]:
    space = env.observation_space if kind == "observation" else env.action_space
    if not isinstance(space, Discrete):
        raise TypeError(f"The {kind} space of {env} is {space}; it must be Discrete.")
    return space


def _horizon(env: gymnasium.Env[Any, Any], horizon: int | None) -> int:
    """The horizon that is asked for, within the limit that the environment sets."""
    world = env.unwrapped
    if isinstance(world, WorldEnv):
        limit: int | None = world.world.shape.horizon
    else:
        limit = None if env.spec is None else env.spec.max_episode_steps
    if horizon is None:
        if limit is None:
            raise ValueError(f"{env} has no limit of its own; give DelayedFeedback a horizon.")
        return limit
    horizon = check_integer("horizon", horizon, 1)
    if limit is not None and horizon > limit:
        raise ValueError(f"horizon is {horizon}; episodes of {env} have at most {limit} steps.")
    return horizon
