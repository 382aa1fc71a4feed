"""ICU-Sepsis: treatments learnt from late outcomes, compared with the clinicians' treatments.

ICU-Sepsis (Choudhary, Gupta and Thomas 2024) is estimated from intensive-care records: 716 states
of a patient, of which 712 are initial, 25 treatments, 20 steps, and reward 1 for survival. A value
is therefore a probability of survival, and regret is the number of patients whom the best policy
would have saved in addition. Learners have no prior knowledge, and the outcome of a patient arrives
0, 100 or 500 patients later on average.

With 25 treatments there are 17,900 pairs of state and treatment. Optimistic learners try each pair,
for which these patients are too few. So the learners choose among the five treatments that
clinicians gave most often in a state, which hardly lowers the value of the best policy. One learner
chooses among all 25, for comparison.

    python examples/sepsis.py            # some minutes; prints a table, draws out/sepsis.png
    python examples/sepsis.py --fast     # a few patients, too few to learn from
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
CHECKPOINTS = 20


def restrict(world: bl.MDP, treatments: np.ndarray) -> bl.MDP:
    """Return `world` with only the actions `treatments`, (S, A), in each state."""
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
    """Return the runs of one learner, and print a summary."""
    episodes = 40 if fast else 8_000
    runs = bl.simulate_many(
        world,
        base=BASES[base],
        updater=UPDATERS[updater][0],
        delay=bl.delays.geometric(mean=delay),
        episodes=episodes,
        seeds=range(1 if fast else 2),
        every=episodes // CHECKPOINTS,
        stages="pooled",  # transitions are the same at every step
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
    """Return the mean value of the policies between checkpoints, from the growth of regret."""
    gaps = np.diff([run.regret for run in runs], axis=1, prepend=0) / runs[0].episode[0]
    return bl.optimal_value(world) - gaps.mean(axis=0)


def draw(learnt: dict, all_25: np.ndarray, usual: bl.MDP, clinicians: float) -> Figure:
    """Return a figure with regret above, policy values below, and a column for each base."""
    best = bl.optimal_value(usual)
    figure = Figure(figsize=(9, 5.6), layout="constrained")
    axes = figure.subplots(2, len(BASES), sharex=True, sharey="row")
    for (base, updater, delay), runs in learnt.items():
        above, below = axes[:, list(BASES).index(base)]
        episode, regret = runs[0].episode, np.mean([run.regret for run in runs], axis=0)
        line = {"color": DELAYS[delay], "linestyle": UPDATERS[updater][1]}
        line["label"] = f"{updater}, E[τ] = {delay}"
        above.plot(episode, regret - (best - clinicians) * episode, **line)
        below.plot(episode, values(usual, runs), **line)
        above.set_title(base, loc="left")
        below.set_xlabel("Patients")
    axes[1, 0].plot(episode, all_25, color="0.5", label="lazy, E[τ] = 0, all 25 treatments")
    line = {"color": "black", "linewidth": 0.8}
    for above, below in axes.T:
        above.axhline(0, **line)
        below.axhline(clinicians, **line)
        below.axhline(best, **line)
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
    usual = restrict(world, np.argsort(-policy[0], axis=1, kind="stable")[:, :5])
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
