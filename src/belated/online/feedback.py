"""Parcels: the content of feedback, as a learner takes it in.

Content is what `belated.ledger.recording.content` says, as it stands in the ledger: checked, and
every part
of an episode once.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from belated.episode import Floats, Ints
from belated.learner.feedback import Parcel
from belated.online.in_flight import Flight, path_parcel

Content = dict[str, Any]


def parcels_of(feedback: Iterable[tuple[Flight, Content]]) -> list[Parcel]:
    """What came back of these flights, in this order; the flights take note of it.

    Whole episodes are most of what there is, and become parts of two or three arrays all at once.
    """
    made: list[Parcel | None] = []
    wholes: list[tuple[int, Flight, Content]] = []
    for flight, content in feedback:
        if "states" in content:
            wholes.append((len(made), flight, content))
            flight.came = len(content["actions"])
            made.append(None)
        elif "steps" in content:
            made.append(_steps(flight, content["steps"]))
        else:
            made += _path_and_rewards(flight, content)
    for place, parcel in _wholes(wholes):
        made[place] = parcel
    return [parcel for parcel in made if parcel is not None]


def earned_by(parcels: list[Parcel], known: Floats | None) -> Iterator[tuple[int, float]]:
    """The number of each episode that brings rewards, and what they add to its return.

    As a learner sees it: where rewards are `known`, (S, A) or (H, S, A), what is sent counts for
    nothing. All at once, since one by one takes as long as the learner does.
    """
    paid = [parcel for parcel in parcels if parcel.late]
    if not paid:
        return
    if known is None:
        each = np.concatenate([parcel.rewards for parcel in paid if parcel.rewards is not None])
    else:
        states = np.concatenate([parcel.states for parcel in paid])
        actions = np.concatenate([parcel.actions for parcel in paid])
        steps = np.concatenate([parcel.steps for parcel in paid])
        each = known[states, actions] if known.ndim == 2 else known[steps, states, actions]
    sizes = [parcel.steps.size for parcel in paid]
    sums = np.add.reduceat(each, np.cumsum([0, *sizes[:-1]]))
    yield from zip((parcel.id for parcel in paid), sums.tolist(), strict=True)


def _wholes(wholes: list[tuple[int, Flight, Content]]) -> Iterator[tuple[int, Parcel]]:
    if not wholes:
        return
    all_states = np.array([content["states"] for _, _, content in wholes], np.int64)
    all_actions = np.array([content["actions"] for _, _, content in wholes], np.int64)
    nothing = [0.0] * all_actions.shape[1]
    all_rewards = np.array([content["rewards"] or nothing for _, _, content in wholes])
    steps = np.arange(all_actions.shape[1])
    for (place, flight, content), states, actions, rewards in zip(
        wholes, all_states, all_actions, all_rewards, strict=True
    ):
        earned = rewards if content["rewards"] else None
        yield place, Parcel(flight.number, steps, states[:-1], actions, states[1:], earned)


def _steps(flight: Flight, steps: list[Content]) -> Parcel:
    def column(name: str) -> Ints:
        return np.array([step[name] for step in steps], np.int64)

    flight.came += len(steps)
    rewards = [step["reward"] for step in steps]
    return Parcel(
        flight.number,
        steps=column("step"),
        states=column("state"),
        actions=column("action"),
        successors=column("next_state"),
        # one is left out only where they are known beforehand
        rewards=None if None in rewards else np.array(rewards, np.float64),
    )


def _path_and_rewards(flight: Flight, content: Content) -> Iterator[Parcel]:
    """Rewards wait for the path, whichever comes first."""
    if "path" in content:
        flight.path = path_parcel(flight.number, **content["path"])
        yield flight.path
    flight.early |= {int(step): reward for step, reward in content.get("rewards", {}).items()}
    if flight.path is not None and flight.early:
        yield _paid(flight.path, flight.early)
        flight.came += len(flight.early)
        flight.early = {}


def _paid(path: Parcel, rewards: dict[int, float]) -> Parcel:
    steps = np.array(sorted(rewards), np.int64)
    return Parcel(
        path.id,
        steps,
        path.states[steps],
        path.actions[steps],
        path.successors[steps],
        np.array([rewards[step] for step in steps.tolist()], np.float64),
        transitions=False,
    )
