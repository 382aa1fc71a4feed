"""ICU-Sepsis (Choudhary, Gupta and Thomas 2024): treating sepsis, from intensive-care records.

The tables come from the data file of the authors' package, which is read and not imported: it
would bring pandas, scikit-learn and two versions of Gym along.
"""

from collections.abc import Iterator
from contextlib import closing
from importlib.metadata import PackageNotFoundError, distribution
from math import prod
from pathlib import Path
from typing import Final, Literal
from zipfile import ZipFile

import numpy as np

from belated.episode import Bools, Floats, Shape, check_integer
from belated.mdp.model import MDP, Draws

STATES: Final = 716
ACTIONS: Final = 25

DEATH: Final = 713
SURVIVAL: Final = 714
TERMINAL: Final = (DEATH, SURVIVAL, 715)
"""Where an episode ends; the authors' third one, s_inf, is where the first two would lead."""


def icu_sepsis(
    *,
    horizon: int = 20,
    inadmissible: Literal["mean", "terminate"] = "mean",
    reward_draws: Draws = "bernoulli",
) -> MDP:
    """713 states of a patient; an action is a level of fluids and one of vasopressors, of 5 each.

    Survival pays 1, on arrival; that is folded into the mean reward of the step that leads there,
    a coin with that mean. A learner that is told the means knows much of the dynamics beforehand:
    `rewards=None` leaves them to be learnt.
    Terminal states absorb. A patient still under treatment after `horizon` steps has earned
    nothing. There are 712 first states.

    `inadmissible` is the authors' strategy for actions that clinicians took too rarely in a state
    to tell what follows: "mean", their default, lets what follows be the mean over the others, and
    "terminate" lets the patient die. (Their third raises an exception, which no learner survives.)

    >>> icu_sepsis()
    MDP(states=716, actions=25, horizon=20, homogeneous, 1528600 successors)
    """
    check_integer("horizon", horizon, 1)
    if inadmissible not in ("mean", "terminate"):
        raise ValueError(f"inadmissible is {inadmissible!r}; it must be 'mean' or 'terminate'.")
    allowed = np.ones((STATES, ACTIONS), np.bool_) if inadmissible == "mean" else _admissible()
    rewards = np.zeros((STATES, ACTIONS))
    columns = []
    with closing(_data()) as data:
        tables = zip(_by_state(data, "tx_mat"), _by_state(data, "r_mat"), strict=True)
        for s, (transitions, paid) in enumerate(tables):
            p = transitions.copy()
            p[~allowed[s]] = np.eye(STATES)[DEATH]
            if s in TERMINAL:
                p[:] = np.eye(STATES)[s]
            else:
                rewards[s] = (p * paid).sum(axis=1)
            a, y = np.nonzero(p)
            columns.append((np.full(a.size, s), a, y, p[a, y]))
        start = _array(data, "d_0")
    return MDP.sparse(
        Shape(STATES, ACTIONS, horizon),
        tuple(np.concatenate(column) for column in zip(*columns, strict=True)),
        np.clip(rewards, 0, 1),  # a mean may leave [0, 1] by rounding
        start=start,
        reward_draws=reward_draws,
    )


def icu_sepsis_clinicians(*, horizon: int = 20) -> Floats:
    """How likely the clinicians were to take each action in each state, (H, S, A).

    `bl.policy_value(world, icu_sepsis_clinicians())` is its exact value. What they did rarely is
    in it too. In terminal states, where nothing matters, it takes the first action.
    """
    check_integer("horizon", horizon, 1)
    with closing(_data()) as data:
        policy = _array(data, "expert_policy")
    policy[list(TERMINAL)] = np.eye(ACTIONS)[0]
    return np.broadcast_to(policy, (horizon, STATES, ACTIONS)).copy()


def _assets() -> Path:
    try:
        # not find_spec: a user's own script may well be called icu_sepsis.py
        package = distribution("icu-sepsis").locate_file("icu_sepsis")
    except PackageNotFoundError:
        raise ImportError("icu_sepsis needs icu-sepsis: pip install 'belated[icu]'.") from None
    return Path(str(package)) / "envs" / "assets"


def _data() -> ZipFile:
    return ZipFile(_assets() / "dynamics.npz")


def _by_state(data: ZipFile, name: str) -> Iterator[Floats]:
    """An array of the file, state by state: all of it at once would be 100 MB."""
    with data.open(f"{name}.npy") as file:
        np.lib.format.read_magic(file)
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        for _ in range(shape[0]):
            block = file.read(prod(shape[1:]) * dtype.itemsize)
            yield np.frombuffer(block, dtype).reshape(shape[1:])


def _array(data: ZipFile, name: str) -> Floats:
    return np.array(list(_by_state(data, name)))


def _admissible() -> Bools:
    """Which actions are, in each state; the file has a line for each, below one of counts."""
    lines = (_assets() / "admissible_actions.txt").read_text().splitlines()[1 : STATES + 1]
    allowed = np.zeros((STATES, ACTIONS), np.bool_)
    for s, line in enumerate(lines):
        allowed[s, [int(action) for action in line.split()]] = True
    return allowed
