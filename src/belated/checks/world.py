"""Conformance of a world: what learners, simulations and exact values rely on."""

import math
from collections.abc import Callable, Collection
from typing import Final

import numpy as np

from belated.checks.engines import agree
from belated.checks.suite import Check, choose, hold
from belated.delays.laws import geometric
from belated.episode import Episode, Floats, Ints, Policy
from belated.exact.values import optimal_actions, optimal_table, optimal_value, policy_value
from belated.learner.bases.ucbvi_ch import UCBVI_CH
from belated.learner.updaters import Active
from belated.mdp.model import MDP, PROBABILITY_TOLERANCE
from belated.mdp.play import play

STEPS: Final = 8000
"""How many to play, about."""


def world_checks(world: MDP, *, without: Collection[str] = ()) -> list[Check]:
    """Every check of `world`, to be called one by one.

    `without` names checks to leave out, for what the world does not claim.

    >>> from belated.mdp.chain import chain
    >>> [check.name for check in world_checks(chain(3))]
    ['rows', 'rewards', 'start', 'value', 'playable', 'addressed', 'returns', 'engines']
    """
    if not isinstance(world, MDP):
        raise TypeError(f"world is {world!r}; it must be an MDP.")
    return choose(CHECKS, without, world)


def check_world(world: MDP, *, without: Collection[str] = ()) -> None:
    """All of `world_checks` at once: raises AssertionError with the first thing that is wrong."""
    for check in world_checks(world, without=without):
        check()


def has_sound_rows(world: MDP) -> None:
    """After each (stage, state, action) come states of the world, with chances that sum to one."""
    hold_indices(world)
    _, S, A = world.shape.table
    for row in doubtful(world):
        block = slice(world.ptr[row], world.ptr[row + 1])
        where = f"stage {row // (S * A)}, state {row // A % S}, action {row % A}"
        hold(
            (np.diff(world.succ[block]) > 0).all(),
            f"The successors of {where} are {world.succ[block]}; they must rise, each once.",
        )
        hold_law(f"The chances of {where}", world.prob[block], world.cum[block])


def doubtful(world: MDP) -> Ints:
    """The rows to look at closely, few of a large world if any."""
    size, first = np.diff(world.ptr), world.ptr[:-1]
    rows = np.repeat(np.arange(size.size), size)
    total = np.cumsum(world.prob)
    within = total - np.repeat(total[first] - world.prob[first], size)
    odd = ~((world.prob >= 0) & (abs(within - world.cum) <= PROBABILITY_TOLERANCE))
    odd[1:] |= (rows[1:] == rows[:-1]) & (np.diff(world.succ) <= 0)
    odd[world.ptr[1:] - 1] |= world.cum[world.ptr[1:] - 1] != 1
    return np.unique(rows[odd])


def hold_indices(world: MDP) -> None:
    """Hold that rows and successors are where compiled code will look for them."""
    H, S, A = world.shape.table
    hold(
        world.ptr.size - 1 in (S * A, H * S * A),
        f"ptr has {world.ptr.size} entries; it must have S * A + 1 or H * S * A + 1.",
    )
    hold(
        world.ptr[0] == 0
        and (np.diff(world.ptr) > 0).all()
        and world.ptr[-1] == world.succ.size == world.prob.size == world.cum.size,
        "ptr must rise from 0 to the number of successors, since every row has one.",
    )
    hold(
        ((world.succ >= 0) & (world.succ < S)).all(),
        f"succ holds {world.succ.max()}; states are 0 .. {S - 1}.",
    )
    hold(
        world.rewards.shape in ((1, S, A), (H, S, A)),
        f"rewards has shape {world.rewards.shape}; it must be (1, S, A) or (H, S, A).",
    )
    hold(
        world.start.shape == world.start_cum.shape == (S,),
        f"start has shape {world.start.shape}; it must have a chance for each of the {S} states.",
    )


def hold_law(what: str, chances: Floats, cum: Floats) -> None:
    """Hold that chances sum to one, and that draws follow them."""
    hold(
        (chances >= 0).all() and abs(chances.sum() - 1) <= PROBABILITY_TOLERANCE,
        f"{what} are {chances}; they must be at least 0 and sum to 1.",
    )
    hold(
        cum[-1] == 1.0 and np.allclose(cum, np.cumsum(chances), rtol=0, atol=1e-8),
        f"{what} add up to {np.cumsum(chances)}, but are drawn by {cum}.",
    )


def pays_zero_to_one(world: MDP) -> None:
    """Mean rewards lie in [0, 1]."""
    hold_indices(world)
    for h, s, a in np.argwhere(~((world.rewards >= 0) & (world.rewards <= 1)))[:1]:
        raise AssertionError(
            f"The reward of stage {h}, state {s}, action {a} is {world.rewards[h, s, a]}; "
            "it must lie in [0, 1]."
        )


def starts_somewhere(world: MDP) -> None:
    """The chances of the first state sum to one."""
    hold_indices(world)
    hold_law("The chances of the first state", world.start, world.start_cum)


def has_a_value(world: MDP) -> None:
    """V* lies in [0, H - h + 1], and the greedy policy attains it."""
    hold_indices(world)
    v = optimal_table(world)
    left = np.arange(world.shape.horizon, -1, -1.0)[:, None]
    for h, s in np.argwhere(~((v >= 0) & (v <= left + PROBABILITY_TOLERANCE)))[:1]:
        raise AssertionError(
            f"The optimal value of state {s} at step {h} is {v[h, s]}; "
            f"it must lie in 0 .. {left[h, 0]:g}."
        )
    best, greedy = optimal_value(world), policy_value(world, best_policy(world))
    hold(
        math.isclose(best, greedy, rel_tol=0, abs_tol=1e-6),
        f"The optimal value is {best}, but the greedy policy is worth {greedy}.",
    )


def best_policy(world: MDP) -> Policy:
    """An optimal policy."""
    return Policy(optimal_actions(world).argmax(axis=2).astype(np.int32))


def aimless(world: MDP) -> Policy:
    """Any action, at every step."""
    H, S, A = world.shape.table
    return Policy(np.zeros((H, S), np.int32), np.ones((H, S, A), np.bool_))


def played(world: MDP, policy: Policy, *, seed: int = 0) -> list[Episode]:
    """Some episodes, fewer if they are long."""
    count = max(20, min(400, STEPS // world.shape.horizon))
    return [play(world, policy, seed=seed, episode=k) for k in range(1, count + 1)]


def can_be_played(world: MDP) -> None:
    """Episodes begin where they may, go only where they can, and pay a number in [0, 1]."""
    hold_indices(world)
    for episode in played(world, aimless(world)):
        try:
            episode.check(world.shape)
        except ValueError as error:
            raise AssertionError(str(error)) from error
        first = int(episode.states[0])
        hold(world.start[first] > 0, f"An episode begins in state {first}, which has no chance.")
        for h, (s, a, y) in enumerate(
            zip(episode.states[:-1], episode.actions, episode.states[1:], strict=True)
        ):
            possible, chances = world.successors(h, s, a)
            hold(
                y in possible[chances > 0],
                f"Action {a} in state {s} at step {h} leads to state {y}, which has no chance.",
            )


def is_addressed(world: MDP) -> None:
    """The same seed and number give the same episode."""
    hold_indices(world)
    policy = aimless(world)
    for one, other in zip(played(world, policy), played(world, policy), strict=True):
        hold(
            np.array_equal(one.states, other.states)
            and np.array_equal(one.actions, other.actions)
            and np.array_equal(one.rewards, other.rewards),  # type: ignore[arg-type]
            f"Episode {one.id} is another one when it is played again; a world must not change.",
        )


def pays_what_it_is_worth(world: MDP) -> None:
    """What episodes earn averages to the value of their policy."""
    hold_indices(world)
    for policy in (aimless(world), best_policy(world)):
        earned = np.array(
            [np.sum(np.asarray(episode.rewards)) for episode in played(world, policy)]
        )
        value, error = policy_value(world, policy), earned.std() / math.sqrt(earned.size)
        # what is earned once in a thousand episodes may not have been seen
        rare = 7 * world.shape.horizon / earned.size
        hold(
            abs(earned.mean() - value) <= 5 * error + rare,
            f"A policy is worth {value:.6g}, but {earned.size} episodes earned {earned.mean():.6g} "
            f"each, give or take {error:.2g}.",
        )


def runs_alike(world: MDP) -> None:
    """The reference loop, the compiled engine and planning only what changed agree to the bit."""
    hold_indices(world)
    agree(
        repr(world),
        world,
        UCBVI_CH(scale=0.01),
        Active(),
        delay=geometric(3),
        episodes=max(5, min(40, 100_000 // (world.ptr.size * world.shape.horizon))),
    )


CHECKS: Final[dict[str, Callable[..., None]]] = {
    "rows": has_sound_rows,
    "rewards": pays_zero_to_one,
    "start": starts_somewhere,
    "value": has_a_value,
    "playable": can_be_played,
    "addressed": is_addressed,
    "returns": pays_what_it_is_worth,
    "engines": runs_alike,
}
