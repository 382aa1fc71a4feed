"""Draw theory.png, the picture in docs/theory.md: `python docs/pictures/theory.py`."""

from pathlib import Path

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter

import belated as bl
from belated.episode import Ints
from belated.figures.styles import LAW_PALETTE, METADATA, PALETTE, RC_PARAMS
from belated.mdp.play import play
from belated.theory import epoch_bound, missing, psi, visit_bound

HERE = Path(__file__).parent
LAWS = [
    bl.delays.constant(100),
    bl.delays.uniform(100),
    bl.delays.poisson(100),
    bl.delays.geometric(100),
]


def draw_missing(axes: Axes) -> None:
    """Draw Lemma 1 on `axes`: S_k under the four laws, and its bound psi."""
    K = 2000
    for law, colour in zip(LAWS, LAW_PALETTE, strict=False):
        S_k = missing(law.draw(seed=0, episodes=K))
        axes.plot(range(1, K + 1), S_k, color=colour, linewidth=1, label=law.name.split(":")[0])
    for safe, dashes, name in ((False, "solid", "psi"), (True, "dotted", "psi, safe")):
        bound = psi(100, K, 0.05, safe=safe)
        axes.axhline(bound, color=PALETTE[1], linestyle=dashes, label=name)
    axes.set_ylim(0, 200)
    axes.set_title("Episodes missing, mean delay 100", loc="left")
    axes.set_xlabel("Episode")


def draw_epochs(axes: Axes) -> None:
    """Draw Lemma 4 on `axes`: the number of epochs with a single triple and alpha = 1."""
    shape = bl.Shape(states=1, actions=1, horizon=1)
    world = bl.MDP.dense(np.ones((1, 1, 1, 1)), np.ones((1, 1, 1)))
    lengths = np.unique(np.geomspace(1, 10_000, 60).astype(int))
    counted = [
        bl.simulate(world, base=bl.UCRL2(), updater=bl.Lazy(1), episodes=int(K)).epochs
        for K in lengths
    ]
    corrected = [epoch_bound(shape, int(K), 1) for K in lengths]
    printed = [epoch_bound(shape, int(K), 1, printed=True) for K in lengths]
    axes.plot(lengths, corrected, color=PALETTE[0], label="corrected bound")
    axes.step(lengths, counted, color="black", where="post", label="counted")
    axes.plot(lengths, printed, color=PALETTE[1], linestyle=(0, (5, 1.5)), label="printed bound")
    axes.set_xscale("log")
    axes.set_ylim(0)
    axes.set_title("Epochs, H = S = A = alpha = 1", loc="left")
    axes.set_xlabel("Episodes")


def observed_visits(shape: bl.Shape, states: Ints, actions: Ints, delays: Ints) -> Ints:
    """Return N' of the triple visited at each step, at the start of its episode; shape (K, H)."""
    counts = np.zeros(shape.table, np.int64)
    steps = np.arange(shape.horizon)
    arrival = np.arange(len(delays)) + delays + 1  # first episode, from 0, with the feedback
    found = np.zeros_like(actions)
    for k in range(len(delays)):
        for i in np.flatnonzero(arrival == k):
            counts[steps, states[i, :-1], actions[i]] += 1
        found[k] = counts[steps, states[k, :-1], actions[k]]
    return found


def draw_visits(axes: Axes) -> None:
    """Draw Lemma 3 on `axes`: the sum of (1 v N')^(-1/2) along the paths of a learner."""
    world, K, base = bl.chain(5), 3000, bl.UCBVI_BF(preset="two_term", scale=0.1)
    lengths = [100, 300, 600, 1000, 1500, 2000, 2500, 3000]
    for law, colour in ((bl.delays.constant(0), PALETTE[0]), (LAWS[3], PALETTE[2])):
        delays = law.draw(seed=0, episodes=K)
        run = bl.simulate(world, base=base, updater=bl.Active(), delay=law, episodes=K, trace=True)
        assert run.policies is not None
        paths = [
            play(world, bl.Policy(policy), seed=0, episode=k)
            for k, policy in enumerate(run.policies, start=1)
        ]
        states = np.array([path.states for path in paths])
        actions = np.array([path.actions for path in paths])
        terms = 1 / np.sqrt(np.maximum(1, observed_visits(world.shape, states, actions, delays)))
        sums, bounds = [], []
        for k in lengths:
            max_missing = int(missing(delays[:k]).max())
            sums.append(terms[:k].sum())
            bounds.append(visit_bound(world.shape, k, missing=max_missing, power=0.5))
        name = "no delay" if law.mean == 0 else "geometric, mean 100"
        axes.plot(lengths, sums, color=colour, label=f"{name}: paths")
        axes.plot(lengths, bounds, color=colour, linestyle=(0, (5, 1.5)), label=f"{name}: Lemma 3")
    axes.set_yscale("log")
    axes.set_ylim(20)
    axes.set_title("Sum of (1 v N')^(-1/2), chain of 5", loc="left")
    axes.set_xlabel("Episodes")


def main() -> None:
    """Draw the three lemmas side by side."""
    with style.context(["default", RC_PARAMS, {"font.size": 8, "axes.titlesize": 9}]):
        figure = Figure(figsize=(10, 3.1), layout="constrained")
        FigureCanvasAgg(figure)
        panels = figure.subplots(1, 3)
        for draw, axes in zip((draw_missing, draw_epochs, draw_visits), panels, strict=True):
            draw(axes)
            axes.legend(loc="lower right", fontsize=7)
        panels[1].xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
        figure.savefig(HERE / "theory.png", dpi=120, metadata=METADATA["png"])


if __name__ == "__main__":
    main()
