"""Gymnasium wrapper that returns the records of episodes with a delay."""

from collections.abc import Iterable
from typing import Any, SupportsFloat

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete
from gymnasium.utils import RecordConstructorArgs

from belated.check import check_integer
from belated.delays.laws import NEVER, Law, check_law
from belated.delays.queue import Queue
from belated.episode import Episode, Shape
from belated.gym.environment import WorldEnv
from belated.mdp.gymnasium import terminal_states
from belated.randomness import check_seed
from belated.reward_map import Affine

Info = dict[str, Any]


class DelayedFeedback(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Gymnasium wrapper that returns the record of an episode in the `info` of a later `reset`.

    Episodes are numbered from 1. The record of episode i with delay tau is in the list
    `info["feedback"]` of the reset that starts the first episode k with i + tau < k. The list is
    empty in the `info` of a step.

    The record of an episode that terminates in a terminal state of `shape` ends there. The terminal
    states are:

    - the states given as `terminal`;
    - the terminal states of the world, if `env` is a `WorldEnv`;
    - the states that an episode visits only when it terminates, if `env` has a table of
      transitions;
    - the state that `end_state=True` adds.

    The record of an episode that terminates in another state before step H is padded to H steps. If
    `reward_map` maps the reward 0 to another number, there are no terminal states: all episodes
    that terminate before step H are padded, because the mapped rewards after the end are not 0.
    Padded steps stay in the last state and have reward 0 in original units. Each time that an
    episode terminates in a state, the padded steps have the next action, so that every action is
    observed in this state; an optimistic learner would overestimate an action without observations.
    Padding would record wrong transitions if an episode can also visit the state without
    terminating. In this case ValueError is raised; use `end_state=True`.

    If `reset` is called before an episode has ended, its feedback never arrives. If `reset` is
    called before the first step, the episode is not counted, and its number is used again.

    Parameters
    ----------
    env : gymnasium.Env
        Environment with discrete observations and actions.
    delay : Law or str
        Law of the delays, in episodes, or its name, such as "geometric:100".
    seed : int
        Seed of the delays. The seed passed to `reset` applies only to the environment.
    horizon : int, optional
        Number of steps H of a record; by default the environment's limit of steps. Longer
        episodes are truncated.
    reward_map : Affine
        Map between the environment's rewards and rewards in [0, 1]. `step` returns the
        environment's rewards; records contain rewards in [0, 1].
    end_state : bool
        Whether to add a state to the records, numbered last, in which terminated episodes end.
    terminal : iterable of int, optional
        States, numbered from 0, in which every episode that reaches them terminates. By default
        they are taken from the environment, if it has a world or a table of transitions.

    Examples
    --------
    >>> from belated.delays import constant
    >>> from belated.mdp.classics import chain
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
        delay: Law | str,
        *,
        seed: int = 0,
        horizon: int | None = None,
        reward_map: Affine = Affine(),  # noqa: B008  (it is frozen)
        end_state: bool = False,
        terminal: Iterable[int] | None = None,
    ) -> None:
        if not isinstance(env, gymnasium.Env):
            raise TypeError(f"env must be a Gymnasium environment, got {env!r}.")
        delay = check_law("delay", delay)
        if not isinstance(reward_map, Affine):
            raise TypeError(f"reward_map must be an Affine map, got {reward_map!r}.")
        RecordConstructorArgs.__init__(
            self,
            delay=delay,
            seed=seed,
            horizon=horizon,
            reward_map=reward_map,
            end_state=end_state,
            terminal=terminal,
        )
        super().__init__(env)
        states, actions = _check_discrete("observation", env), _check_discrete("action", env)
        self._delay = delay
        self._seed = check_seed(seed)
        self._reward_map = reward_map
        self._end_state = end_state
        self._first_state, self._first_action = int(states.start), int(actions.start)
        S, A, H = int(states.n) + end_state, int(actions.n), _check_horizon(env, horizon)
        world = env.unwrapped.world if isinstance(env.unwrapped, WorldEnv) else None
        ends: set[int] = set()
        if reward_map.unit(0.0) == 0:
            known = terminal_states(env) if world is None else world.shape.terminal
            ends = {*(known if terminal is None else terminal), *([S - 1] if end_state else [])}
        elif terminal is not None:
            raise ValueError(
                "terminal must not be given if reward_map maps the reward 0 to another number, "
                f"got {reward_map}: after the end of an episode the mapped rewards would be lost."
            )
        allowed = np.ones((H, S, A), np.bool_)
        if world is not None and world.shape.allowed is not None:
            allowed[:, : world.shape.states] = world.shape.allowed[:H]
        self._shape = Shape(S, A, H, terminal=ends, allowed=allowed)
        delay.selector(self._shape)  # may reject the shape
        self._passed = np.zeros(self._shape.states, np.bool_)  # states in which a step was taken
        self._early_ends = np.zeros(self._shape.states, np.int64)  # padded episodes by last state
        self._queue: Queue[Episode] = Queue()
        self._episode = 0
        self._over = True
        self._states: list[int] = []
        self._actions: list[int] = []
        self._rewards: list[float] = []

    @property
    def shape(self) -> Shape:
        """Sizes (S, A, H) of the records, terminal states and allowed actions.

        S includes the state that `end_state=True` adds.
        """
        return self._shape

    @property
    def episode(self) -> int:
        """Number of the episode that was started last; 0 before the first reset."""
        return self._episode

    @property
    def missing(self) -> int:
        """Number of records that have not arrived, including records that never arrive."""
        return self._queue.missing

    def state(self, observation: Any) -> int:
        """Return the state, numbered from 0, that corresponds to an `observation`."""
        return int(observation) - self._first_state

    def action(self, index: int) -> int:
        """Return the action of the environment for `index`, an action numbered from 0.

        The result is an argument of `step`.
        """
        return index + self._first_action

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Any, Info]:
        """Start the next episode and return the first observation and `info`.

        `seed` and `options` are passed to the environment. `info` contains the entries of the
        environment's `info`, and the entry "feedback": the list of records that have become usable.
        """
        observation, info = self.env.reset(seed=seed, options=options)
        if self._actions and not self._over:
            self._push_record(NEVER)
        if self._actions or self._episode == 0:
            self._episode += 1
        self._over = False
        self._states, self._actions, self._rewards = [self.state(observation)], [], []
        return observation, {**info, "feedback": self._queue.due(self._episode)}

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, Info]:
        """Take a step in the environment; after the last step, queue the record of the episode.

        `action` is an action of the environment. Return (observation, reward, terminated,
        truncated, info) of the environment, with two changes. `truncated` is True at step H of an
        episode that has not terminated, and `info["feedback"]` is an empty list.
        """
        if self._over:
            raise gymnasium.error.ResetNeeded("The episode is over; call reset() to start another.")
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._passed[self._states[-1]] = True
        self._actions.append(int(action) - self._first_action)
        self._rewards.append(self._unit_reward(float(reward)))
        at_end = terminated and self._end_state
        self._states.append(self._shape.states - 1 if at_end else self.state(observation))
        H = self._shape.horizon
        if truncated and not terminated and len(self._actions) < H:
            raise ValueError(
                f"horizon must be at most {len(self._actions)}, got {H}: "
                f"the environment truncated episode {self._episode} after that many steps."
            )
        ends = bool(self._shape.is_terminal[self._states[-1]])
        if ends and not terminated:
            raise ValueError(
                f"State {self._states[-1]} must not be terminal, since the environment did not "
                f"terminate there in episode {self._episode}; leave it out of terminal=."
            )
        if terminated and not ends:
            self._pad()
        if terminated or len(self._actions) == H:
            truncated = not terminated
            self._over = True
            self._push_record()
        return observation, reward, terminated, truncated, {**info, "feedback": []}

    def _pad(self) -> None:
        """Extend the record of a terminated episode to H steps that stay in its last state."""
        missing = self._shape.horizon - len(self._actions)
        if missing == 0:
            return
        state = self._states[-1]
        self._states += [state] * missing
        self._actions += [int(self._early_ends[state]) % self._shape.actions] * missing
        self._rewards += [self._unit_reward(0.0)] * missing
        self._early_ends[state] += 1

    def _push_record(self, delay: int | None = None) -> None:
        """Queue the record of the current episode, which arrives after `delay` episodes.

        By default, the delay is drawn. ValueError is raised if an episode was padded in a state
        that was also visited before the end of an episode.
        """
        for state in np.flatnonzero(self._passed & (self._early_ends > 0))[:1]:
            raise ValueError(
                f"State {state} ended one episode before step H and did not end another, so the "
                "records of the two contradict each other; pass end_state=True to "
                "DelayedFeedback, which adds a terminal state to the records."
            )
        record = Episode(self._episode, self._states, self._actions, self._rewards)
        if delay is None:
            delay = self._delay.draw_for(record, shape=self._shape, seed=self._seed)
        self._queue.push(record, delay)

    def _unit_reward(self, reward: float) -> float:
        """Return `reward` mapped by `reward_map`; raise ValueError if it is then outside [0, 1]."""
        unit = self._reward_map.unit(reward)
        if not 0 <= unit <= 1:
            raise ValueError(
                f"reward_map must map rewards into [0, 1], got {unit:g} for the reward {reward:g}; "
                "pass reward_map=Affine.onto(low, high) to DelayedFeedback, where low .. high "
                "contains every reward, and 0 if an episode may end early."
            )
        return unit


def _check_discrete(kind: str, env: gymnasium.Env[Any, Any]) -> Discrete[Any]:
    """Return the observation space or the action space of `env`; TypeError if not discrete.

    `kind`, "observation" or "action", selects the space.
    """
    space = env.observation_space if kind == "observation" else env.action_space
    if not isinstance(space, Discrete):
        raise TypeError(f"The {kind} space of {env} must be Discrete, got {space}.")
    return space


def _check_horizon(env: gymnasium.Env[Any, Any], horizon: int | None) -> int:
    """Return `horizon`, or the limit of steps of the environment `env` if `horizon` is None.

    A `horizon` above the limit raises ValueError, as does None if the environment has no limit.
    """
    world = env.unwrapped
    if isinstance(world, WorldEnv):
        limit: int | None = world.world.shape.horizon
    else:
        limit = None if env.spec is None else env.spec.max_episode_steps
    if horizon is None:
        if limit is None:
            raise ValueError(
                f"{env} has no maximum number of steps; pass horizon= to DelayedFeedback."
            )
        return limit
    horizon = check_integer("horizon", horizon, 1)
    if limit is not None and horizon > limit:
        raise ValueError(f"horizon must be at most {limit}, the limit of {env}, got {horizon}.")
    return horizon
