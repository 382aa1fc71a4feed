"""ICU-Sepsis: treatments learnt while outcomes come back late, against what clinicians do.

ICU-Sepsis (Choudhary, Gupta and Thomas 2024) is estimated from intensive-care records: 716 states
of a patient, any of 712 at first, 25 treatments, 20 steps, and 1 for survival. So a value is a
chance to survive, and regret counts the patients whom the best policy would have saved. Learners
know nothing beforehand, and hear of a patient 0, 100 or 500 patients later on average.

25 treatments make 17,900 pairs of a state and a treatment. An optimist tries each of them before it
trusts any, and the patients here are too few for that. So the learners choose among the five that
clinicians gave most often in a state, which costs the best policy next to nothing. One of them
chooses among all 25, to show the difference.

    python examples/sepsis.py            # some minutes; prints a table, draws out/sepsis.png
    python examples/sepsis.py --fast     # a few patients, nothing learnt
"""

import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
from matplotlib import style
from matplotlib.figure import Figure

import belated as bl
from belated.figures.styles import RC_PARAMS
from belated.mdp.icu_sepsis import icu_sepsis_clinicians
from belated.simulation.run import Run

BASES = {
    "UBEV": bl.UBEV(scale=0.0003),
    "UCBVI-BF": bl.UCBVI_BF(preset="two_term", scale=0.0003),
    "UCRL2": bl.UCRL2(scale=0.001),
}
UPDATERS = {"active": (bl.Active(), "solid"), "lazy": (bl.Lazy(alpha=1), "dashed")}
DELAYS = {0: "#0072B2", 100: "#E69F00", 500: "#882255"}
PARTS = 20


def among(world: bl.MDP, treatments: np.ndarray) -> bl.MDP:
    """The same patients, with only these treatments, (S, A), to choose from in each state."""
    S, A = treatments.shape
    entries = []
    for s, a in np.ndindex(S, A):
        successors, probabilities = world.successors(0, s, treatments[s, a])
        entries += [(s, a, y, p) for y, p in zip(successors, probabilities, strict=True)]
    return bl.MDP.sparse(
        bl.Shape(S, A, world.shape.horizon),
        entries,
        np.take_along_axis(world.rewards[0], treatments, axis=1),
        start=world.start,
        reward_draws=world.reward_draws,
    )


def learn(world: bl.MDP, base: str, updater: str, delay: int, *, fast: bool) -> list[Run]:
    """The runs of one learner, and a line on how they went."""
    episodes = 40 if fast else 8_000
    runs = bl.simulate_many(
        world,
        base=BASES[base],
        updater=UPDATERS[updater][0],
        delay=bl.delays.geometric(mean=delay),
        episodes=episodes,
        seeds=range(1 if fast else 2),
        every=episodes // PARTS,
        stages="pooled",  # a treatment does the same at every step
        rewards=None,  # unknown
    )
    regret = np.mean([run.total_regret for run in runs])
    plans = np.mean([run.updates for run in runs])
    print(
        f"{base:8} {updater:6} delay {delay:3}, {world.shape.actions:2} treatments: "
        f"regret {regret:5.1f}, {plans:5,.0f} plans, survival {values(world, runs)[-1]:.3f}"
    )
    return runs


def values(world: bl.MDP, runs: Sequence[Run]) -> np.ndarray:
    """The mean value of the policies played in each part of the runs, from how regret grew."""
    gaps = np.diff([run.regret for run in runs], axis=1, prepend=0) / runs[0].episode[0]
    return bl.optimal_value(world) - gaps.mean(axis=0)


def draw(learnt: dict, all_25: np.ndarray, usual: bl.MDP, clinicians: float) -> Figure:
    """Regret above, the value of the policies below, a column for each base."""
    best = bl.optimal_value(usual)
    figure = Figure(figsize=(9, 5.6), layout="constrained")
    axes = figure.subplots(2, len(BASES), sharex=True, sharey="row")
    for (base, updater, delay), runs in learnt.items():
        above, below = axes[:, list(BASES).index(base)]
        episode, regret = runs[0].episode, np.mean([run.regret for run in runs], axis=0)
        look = {"color": DELAYS[delay], "linestyle": UPDATERS[updater][1]}
        look["label"] = f"{updater}, E[τ] = {delay}"
        above.plot(episode, regret - (best - clinicians) * episode, **look)
        below.plot(episode, values(usual, runs), **look)
        above.set_title(base, loc="left")
        below.set_xlabel("Patients")
    axes[1, 0].plot(episode, all_25, color="0.5", label="lazy, E[τ] = 0, all 25 treatments")
    look = {"color": "black", "linewidth": 0.8}
    for above, below in axes.T:
        above.axhline(0, **look)
        below.axhline(clinicians, **look)
        below.axhline(best, **look)
    below.text(episode[-1], clinicians, "clinicians ", ha="right", va="top")
    below.text(episode[-1], best, "best of five ", ha="right", va="top")
    below.set_xlim(0)
    axes[0, 0].set_ylabel("Regret, less the clinicians' own")
    axes[1, 0].set_ylabel("Chance to survive")
    figure.legend(*axes[1, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def main(fast: bool) -> None:
    world = bl.icu_sepsis(horizon=20)
    policy = icu_sepsis_clinicians(horizon=20)
    usual = among(world, np.argsort(-policy[0], axis=1, kind="stable")[:, :5])
    clinicians = bl.policy_value(world, policy)
    best, of_five = bl.optimal_value(world), bl.optimal_value(usual)
    print(f"Survival: clinicians {clinicians:.3f}, best {best:.3f}, best of five {of_five:.3f}")
    settings = product(BASES, UPDATERS, DELAYS)
    learnt = {setting: learn(usual, *setting, fast=fast) for setting in settings}
    all_25 = values(world, learn(world, "UBEV", "lazy", 0, fast=fast))
    Path("out").mkdir(exist_ok=True)
    with style.context(["default", RC_PARAMS]):
        draw(learnt, all_25, usual, clinicians).savefig("out/sepsis.png", dpi=110)
    print("Drawn: out/sepsis.png")


if __name__ == "__main__":
    main(fast="--fast" in sys.argv)
