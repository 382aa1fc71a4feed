"""Layouts: where the states of a world stand in its picture, and the arrows between them."""

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, Rectangle

from belated.episode import Bools, Floats
from belated.exact.values import optimal_actions, optimal_table
from belated.figures.arrows import GREY, colour_of, key, legend, loop, move, straight, write
from belated.mdp.model import MDP

RADIUS: Final = 0.25
"""Of a state, where its neighbour is 1 away."""

DOT: Final = 0.05
"""Radius of a state after the last step."""

SHADES: Final = LinearSegmentedColormap.from_list("shades", ["white", "#8fbfe0"])
WAYS: Final = {"up": (0, 1), "right": (1, 0), "down": (0, -1), "left": (-1, 0)}
BOLD: Final = 2.2
DARK: Final = "0.35"


def draw_row(axes: Axes, world: MDP, names: Sequence[str]) -> None:
    """States side by side: moves to the right above them, moves to the left below."""
    S, A = world.shape.states, world.shape.actions
    places = np.zeros((S, 2))
    places[:, 0] = np.arange(S)
    outward = np.zeros((S, A, 2))
    outward[..., 1] = np.where(np.arange(A) % 2, 1, -1)
    draw_graph(axes, world, places, outward, names, bend=0.35)
    axes.set(xlim=(-0.7, S - 0.3), ylim=(-0.7, 0.7))


def draw_ring(axes: Axes, world: MDP, names: Sequence[str]) -> None:
    """States in a ring, clockwise from the top."""
    S, A = world.shape.states, world.shape.actions
    turns = np.pi / 2 - 2 * np.pi * np.arange(S) / S
    radius = 0.8 / math.sin(math.pi / S) if S > 1 else 0.0
    loops = turns[:, None] + 0.8 * (np.arange(A) - (A - 1) / 2)
    places = radius * np.stack([np.cos(turns), np.sin(turns)], axis=1)
    outward = np.stack([np.cos(loops), np.sin(loops)], axis=2)
    draw_graph(axes, world, places, outward, names, bend=0.13 if S > 3 else 0.3)
    reach = radius + 0.75
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach))


def draw_graph(
    axes: Axes, world: MDP, places: Floats, outward: Floats, names: Sequence[str], *, bend: float
) -> None:
    """An arrow for each successor, in the colour of its action; `outward` is where loops go."""
    S, A = world.shape.states, world.shape.actions
    nodes = [draw_state(axes, world, s, places[s]) for s in range(S)]
    for s, a in np.ndindex(S, A):
        for y, p in zip(*world.successors(0, s, a), strict=True):
            if y == s:
                middle = loop(axes, nodes[s], outward[s, a], colour_of(a), p)
            else:
                middle = move(axes, nodes[s], nodes[y], colour_of(a), p, bend=-bend * (A - a))
            if p < 1:
                write(axes, middle, f"{p:.2g}", colour_of(a))
    keys = [*(key(name, colour_of(a)) for a, name in enumerate(names)), first_key("o")]
    legend(axes, keys, note="On arrows: how likely; with +: what a step from there pays")


def first_key(marker: str) -> Line2D:
    """The first state in the legend."""
    bold: dict[str, Any] = {"mfc": "white", "mec": "black", "mew": BOLD}
    return Line2D([], [], marker=marker, linewidth=0, label="first state", **bold)


def draw_state(axes: Axes, world: MDP, s: int, place: Floats) -> Circle:
    """A circle with the state's number and what it pays."""
    edge = BOLD if world.start[s] > 0 else 0.8
    circle = Circle(tuple(place), RADIUS, facecolor="white", edgecolor="black", linewidth=edge)
    axes.add_patch(circle)
    pays = world.rewards[0, s]
    lines: list[tuple[str, str]] = []
    if pays.max() > 0 and np.ptp(pays) == 0:
        lines = [(f"+{pays[0]:.3g}", "black")]
    elif pays.size == 2:
        lines = [(f"+{r:.2g}", colour_of(a)) for a, r in enumerate(pays) if r > 0]
    elif pays.max() > 0:
        lines = [(f"≤ {pays.max():.2g}", "black")]
    centred: dict[str, Any] = {"ha": "center", "va": "center"}
    x, y = place[0], place[1] + 0.06 * len(lines)
    axes.text(x, y, str(s), fontsize=9, **centred)
    for i, (text, colour) in enumerate(lines):
        axes.text(x, y - 0.14 - 0.1 * i, text, fontsize=6, color=colour, **centred)
    return circle


def draw_steps(axes: Axes, world: MDP, names: Sequence[str]) -> None:
    """A row of states at every step, from the top down: those that can be reached."""
    H, S, _ = world.shape.table
    v, best, reached = optimal_table(world), optimal_actions(world), reachable(world)
    top = max(v[reached].max(), 1e-9)
    for h, s in np.argwhere(reached).tolist():
        size, shade = (RADIUS, SHADES(v[h, s] / top)) if h < H else (DOT, GREY)
        axes.add_patch(Circle((s, -h), size, facecolor=shade, edgecolor="0.3", linewidth=0.8))
        if h < H:
            axes.text(s, -h, f"{v[h, s]:.2g}", ha="center", va="center", fontsize=6)
            draw_falls(axes, world, h, s, best[h, s])
    for h in range(H):
        axes.text(-0.6, -h, f"step {h + 1}", ha="right", va="center", fontsize=7, color="0.3")
    keys = [key(f"{name}, where best", colour_of(a)) for a, name in enumerate(names)]
    legend(axes, [*keys, key("not best", GREY)], note="In states: V* from there on")
    axes.set(xlim=(-1.2, S - 0.2), ylim=(-H - 0.2, 0.4))


def reachable(world: MDP) -> Bools:
    """Which states can be reached by which step, (H + 1, S)."""
    H, S, A = world.shape.table
    reached = np.zeros((H + 1, S), np.bool_)
    reached[0] = world.start > 0
    for h, s, a in np.ndindex(H, S, A):
        if reached[h, s]:
            reached[h + 1, world.successors(h, s, a)[0]] = True
    return reached


def draw_falls(axes: Axes, world: MDP, h: int, s: int, best: Bools) -> None:
    """Arrows from a state to the next row, and what pays well."""
    at = np.array([s, -h], np.float64)
    gap = RADIUS if h < world.shape.horizon - 1 else DOT
    for a in np.argsort(best, kind="stable").tolist():  # the best ones last, to lie on top
        colour = colour_of(a) if best[a] else GREY
        for y, p in zip(*world.successors(h, s, a), strict=True):
            to = np.array([y, -h - 1], np.float64)
            way = (to - at) / math.hypot(*(to - at))
            straight(axes, at + RADIUS * way, to - gap * way, colour, p)
        pays = world.rewards[h % len(world.rewards), s, a]
        if pays > world.rewards.max() / 2:
            write(axes, np.array([s, -h - 0.55]), f"+{pays:.3g}", colour)


def draw_grid(axes: Axes, world: MDP, names: Sequence[str], *, columns: int) -> None:
    """Cells shaded by V* at the first step, and arrows for the best first move."""
    S, A = world.shape.states, world.shape.actions
    v, best = optimal_table(world)[0], optimal_actions(world)[0]
    origin = np.repeat(np.arange(S * A), np.diff(world.ptr[: S * A + 1])) // A
    leads = world.succ[: origin.size] != origin
    left, entered = np.isin(np.arange(S), origin[leads]), world.start > 0
    entered[world.succ[: origin.size][leads]] = True
    low, span = v[entered].min(), max(np.ptp(v[entered]), 1e-9)
    pays = world.rewards[0].max(axis=1)
    few = np.mean(pays[entered] > 0) < 0.5
    for s in range(S):
        x, y = s % columns, -(s // columns)
        shade = SHADES((v[s] - low) / span) if entered[s] else DARK
        draw_cell(axes, x, y, shade, first=world.start[s] > 0)
        if not entered[s]:
            continue
        axes.text(x - 0.4, y + 0.4, f"{v[s]:.4g}", fontsize=6.5, va="top", color="0.25")
        if few and pays[s] > 0:
            axes.text(x + 0.4, y - 0.4, f"+{pays[s]:.2g}", fontsize=7.5, ha="right", va="bottom")
        if not left[s]:
            axes.plot(x, y, marker="x", color="0.25")
        elif not best[s].all():
            draw_best(axes, world, s, best[s], names, columns=columns)
    keys = [key("best first move", colour_of(0)), key("where else it may lead", GREY)]
    keys.append(first_key("s"))
    if not left[entered].all():
        keys.append(Line2D([], [], marker="x", color="0.25", lw=0, label="nothing leads out"))
    if not entered.all():
        keys.append(Line2D([], [], marker="s", color=DARK, lw=0, label="nothing leads in"))
    legend(axes, keys, note="In cells: V* at the first step; with +: what a step from there pays")
    axes.set(xlim=(-0.6, columns - 0.4), ylim=(-(S // columns) + 0.4, 0.6))


def draw_cell(axes: Axes, x: float, y: float, shade: Any, *, first: bool) -> None:
    """A square, with a frame if an episode may begin there."""
    axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, fc=shade, ec="0.7", lw=0.6))
    if first:
        axes.add_patch(Rectangle((x - 0.45, y - 0.45), 0.9, 0.9, fill=False, lw=BOLD))


def draw_best(
    axes: Axes, world: MDP, s: int, best: Bools, names: Sequence[str], *, columns: int
) -> None:
    """The best moves from a cell, and thinly where they may slip."""
    at = np.array([s % columns, -(s // columns)], np.float64)
    bold: dict[tuple[float, float], float] = {}
    thin: dict[tuple[float, float], float] = {}
    for a in np.flatnonzero(best).tolist():
        states, chances = world.successors(0, s, a)
        ways = [(y % columns - at[0], -(y // columns) - at[1]) for y in states.tolist()]
        bold[WAYS.get(names[a], ways[int(np.argmax(chances))])] = 1.0
        thin |= dict(zip(ways, chances.tolist(), strict=True))
    for moves, colour in ((thin, GREY), (bold, colour_of(0))):
        for way, p in moves.items():
            if any(way) and (colour != GREY or way not in bold):
                straight(axes, at, at + 0.38 * np.array(way) / math.hypot(*way), colour, p)
