"""ICU-Sepsis (Choudhary, Gupta and Thomas 2024): sepsis treatment from intensive-care records.

The tables are read from the data files of the authors' package. The package is not imported,
because it depends on pandas, scikit-learn and two versions of Gym.
"""

from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from belated.check import check_integer
from belated.episode import Bools, Floats, Shape
from belated.extras import missing_extra
from belated.mdp.model import MDP, Draws

STATES: Final = 716
ACTIONS: Final = 25

DEATH: Final = 713
SURVIVAL: Final = 714
TERMINAL: Final = (DEATH, SURVIVAL, 715)
"""States in which an episode ends. In the authors' model, the last of the three states, s_inf, is
the successor of the other two."""


def icu_sepsis(
    *,
    treatments: int = ACTIONS,
    horizon: int = 20,
    inadmissible: Literal["mean", "terminate"] = "mean",
    reward_draws: Draws = "bernoulli",
) -> MDP:
    """Return the ICU-Sepsis world: 713 states of a patient and 3 terminal states.

    An action combines one of 5 levels of fluids with one of 5 levels of vasopressors. The mean
    reward of a step is the probability that it leads to the survival state. The value of a policy
    is therefore the probability of survival within `horizon` steps. Known mean rewards reveal much
    of the dynamics to a learner; a learner with `rewards=None` estimates rewards. There are 712
    possible first states. The extra `belated[icu]` installs the data.

    Parameters
    ----------
    treatments : int
        Number of actions, in 1 .. 25. If there are fewer than 25, they are those with the largest
        probability under the clinicians' policy, on average over the states of a patient, in
        this order.
    horizon : int
        Number of steps of an episode, at least 1.
    inadmissible : {"mean", "terminate"}
        Transitions of inadmissible actions. An action is inadmissible in a state if clinicians took
        it too rarely there to estimate its transitions. "mean", the authors' default: the mean over
        the admissible actions. "terminate": death. The authors' third strategy, to raise an
        exception, is not available.
    reward_draws : {"deterministic", "bernoulli", "beta"}
        Distribution of the reward of a step; see `MDP.reward_draws`.

    Returns
    -------
    MDP
        World with 716 states.

    Raises
    ------
    ImportError
        If the package icu-sepsis is not installed.

    Examples
    --------
    >>> icu_sepsis().shape
    Shape(states=716, actions=25, horizon=20, terminal=(713, 714, 715))
    >>> icu_sepsis(treatments=5).shape.actions
    5
    """
    if check_integer("treatments", treatments, 1) > ACTIONS:
        raise ValueError(f"treatments must lie in 1 .. {ACTIONS}, got {treatments}.")
    shape = Shape(STATES, treatments, horizon, terminal=TERMINAL)
    if inadmissible not in ("mean", "terminate"):
        raise ValueError(f"inadmissible must be 'mean' or 'terminate', got {inadmissible!r}.")
    transitions, rewards, start = _read_tables(_assets(), treatments, inadmissible)
    return MDP.sparse(
        shape,
        transitions,
        np.clip(rewards, 0, 1),  # a mean may leave [0, 1] by rounding
        start=start.copy(),
        reward_draws=reward_draws,
    )


def icu_sepsis_clinicians(*, horizon: int = 20) -> Floats:
    """Return the clinicians' policy as probabilities of actions, shape (H, S, A).

    The policy includes actions that the clinicians took rarely. In terminal states, it takes
    action 0. `horizon` is the number of steps H.

    >>> icu_sepsis_clinicians(horizon=5).shape
    (5, 716, 25)
    """
    check_integer("horizon", horizon, 1)
    with np.load(_assets() / "dynamics.npz") as data:
        policy = data["expert_policy"]
    policy[list(TERMINAL)] = np.eye(ACTIONS)[0]
    return np.broadcast_to(policy, (horizon, STATES, ACTIONS)).copy()


@lru_cache(maxsize=2)
def _read_tables(
    folder: Path, treatments: int, inadmissible: str
) -> tuple[tuple[NDArray[Any], ...], Floats, Floats]:
    """Return transitions, mean rewards and first states of the world.

    The result is cached, because a sweep builds the world for each of its cells, and reading takes
    half a second; it must not be changed.

    Parameters
    ----------
    folder : Path
        Folder of the authors' data files.
    treatments, inadmissible
        See `icu_sepsis`.

    Returns
    -------
    transitions : tuple of NDArray
        State, action, successor and probability of each possible transition.
    rewards : Floats
        Mean rewards, shape (S, treatments).
    start : Floats
        Probability of each first state, shape (S,).
    """
    allowed = np.ones((STATES, ACTIONS), np.bool_)
    if inadmissible == "terminate":
        allowed = _read_admissible(folder)
    rewards = np.zeros((STATES, treatments))
    columns = []
    with np.load(folder / "dynamics.npz") as data:
        kept = np.arange(ACTIONS)
        if treatments < ACTIONS:
            used = data["expert_policy"][:DEATH].mean(axis=0)
            kept = np.argsort(-used, kind="stable")[:treatments]
        for s, (p, paid) in enumerate(zip(data["tx_mat"], data["r_mat"], strict=True)):
            if s in TERMINAL:
                continue
            p[~allowed[s]] = np.arange(STATES) == DEATH
            p = p[kept]
            rewards[s] = (p * paid[kept]).sum(axis=1)
            a, y = np.nonzero(p)
            columns.append((np.full(a.size, s), a, y, p[a, y]))
        start = data["d_0"]
    return tuple(np.concatenate(column) for column in zip(*columns, strict=True)), rewards, start


def _assets() -> Path:
    """Return the folder of the authors' data files.

    Raises ImportError if the authors' package is not installed.
    """
    try:
        # find_spec could find a user's own script called icu_sepsis.py
        package = distribution("icu-sepsis").locate_file("icu_sepsis")
    except PackageNotFoundError:
        raise ImportError(missing_extra("icu_sepsis", "icu-sepsis", "icu")) from None
    return Path(str(package)) / "envs" / "assets"


def _read_admissible(folder: Path) -> Bools:
    """Return a mask, of shape (S, A), of the actions that are admissible in each state.

    The first line of the data file in `folder` is not used. Each of the next S lines lists the
    numbers of the admissible actions of one state.
    """
    lines = (folder / "admissible_actions.txt").read_text().splitlines()[1 : STATES + 1]
    allowed = np.zeros((STATES, ACTIONS), np.bool_)
    for s, line in enumerate(lines):
        allowed[s, [int(action) for action in line.split()]] = True
    return allowed
