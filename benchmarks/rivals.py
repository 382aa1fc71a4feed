"""This engine against others that do the same, on the chain with S = H."""

from collections.abc import Callable

import belated as bl
import dense
from belated.simulation.run import Run
from measure import Turn, Turns, turn
from peer import NoPeerError, Peer
from table import Promise, Report, Section, number, spread, times

SMALL = 0.01
"""A scale of the bonus with which the learner finds the reward of chain 30 in these episodes."""

EPISODES = {5: 20_000, 10: 20_000, 20: 10_000, 30: 10_000, 100: 2_000}
# What these two need for an episode does not depend on what has been seen, so fewer will do.
DENSE_EPISODES = {5: 20_000, 10: 10_000, 20: 5_000, 30: 5_000, 100: 200}
PEER_EPISODES = {5: 2_000, 10: 500, 20: 100, 30: 40, 100: 2}

ENGINE, LAZY, FLOOR = "this engine", "lazy(10)", "floor"
FULL, SEEN, DENSE, PEER = "full", "dense, seen rows", "dense", "rlberry-scool"
CONTESTANTS = (FLOOR, LAZY, ENGINE, FULL, SEEN, DENSE, PEER)
RATIOS = (
    (PEER, ENGINE),
    (DENSE, ENGINE),
    (SEEN, ENGINE),
    (FULL, ENGINE),
    (ENGINE, FLOOR),
    (LAZY, FLOOR),
)


def measure(report: Report, *, quick: bool, repeats: int) -> None:
    """Add the times, their ratios, and what was promised of them."""
    peer, note = None, "The peer is left out of a quick run."
    if not quick:
        try:
            peer = Peer()
            note = f"The peer is rlberry-scool {peer.version}."
        except NoPeerError as error:
            note = f"The peer is skipped: {error}"
    turns = {}
    for S, scale in (*((S, 1.0) for S in ((5, 30) if quick else EPISODES)), (30, SMALL)):
        world = bl.chain(S)
        agree(world, scale, episodes=min(2_000, DENSE_EPISODES[S]))
        if peer is not None:
            peer.meet(world)
        turns[S, scale] = Turns(contestants(world, scale, peer), repeats)
    if peer is not None:
        peer.close()
    report.sections += tabulate(turns, note)
    report.promises += promises(turns)


def agree(world: bl.MDP, scale: float, *, episodes: int) -> None:
    """Contestants that are said to do the same must have the same regret."""
    ours = simulation(world, scale, episodes)().total_regret
    for seen_only in (False, True):
        theirs = dense.regret(world, episodes=episodes, scale=scale, seen_only=seen_only)
        assert abs(ours - theirs) <= 1e-9, (world, ours, theirs)


def simulation(
    world: bl.MDP,
    scale: float,
    episodes: int,
    updater: bl.Active | bl.Lazy | None = None,
    **options: str,
) -> Callable[[], Run]:
    """A run of this engine."""
    base = bl.UCBVI_BF(preset="two_term", scale=scale)
    return lambda: bl.simulate(
        world, base=base, updater=updater or bl.Active(), episodes=episodes, **options
    )


def contestants(world: bl.MDP, scale: float, peer: Peer | None) -> dict[str, Turn]:
    """Each contestant's turn."""
    S = world.shape.states
    K, K_dense, K_peer = EPISODES[S], DENSE_EPISODES[S], PEER_EPISODES[S]
    turns = {
        FLOOR: turn(simulation(world, scale, K, planning="none"), K),
        LAZY: turn(simulation(world, scale, K, bl.Lazy(alpha=10)), K),
        ENGINE: turn(simulation(world, scale, K), K),
        FULL: turn(simulation(world, scale, K, planning="full"), K),
        SEEN: turn(lambda: dense.regret(world, episodes=K, scale=scale, seen_only=True), K),
        DENSE: turn(lambda: dense.regret(world, episodes=K_dense, scale=scale), K_dense),
    }
    if peer is not None:
        turns[PEER] = lambda: peer.play(K_peer)
    return turns


def label(S: int, scale: float) -> str:
    """A setting in a few letters."""
    return str(S) if scale == 1 else f"{S}, scale={scale:g}"


def tabulate(turns: dict[tuple[int, float], Turns], note: str) -> list[Section]:
    """The times and their ratios."""
    some = next(iter(turns.values()))
    names = [name for name in CONTESTANTS if name in some]
    pairs = [pair for pair in RATIOS if pair[0] in some]
    return [
        Section(
            "Rivals on the chain, µs per episode",
            ("S = H", *names),
            [(label(*at), *(number(taken[name]) for name in names)) for at, taken in turns.items()],
            "UCBVI-BF with the two-term bonus, counts for each step, active unless it says lazy, "
            f"no delay. With `scale=1` chain 30 is not learnt in these episodes; with "
            f"`scale={SMALL:g}` it is, and plans move more. {note}",
        ),
        Section(
            "Rivals on the chain, ratios",
            ("S = H", *(f"{slow} / {fast}" for slow, fast in pairs)),
            [
                (label(*at), *(spread(taken.ratios(*pair)) for pair in pairs))
                for at, taken in turns.items()
            ],
            "The median over the turns, and the least and the largest.",
        ),
    ]


def promises(turns: dict[tuple[int, float], Turns]) -> list[Promise]:
    """What was promised of the ratios."""
    found = []
    for (S, scale), taken in turns.items():
        where = f"chain {label(S, scale)}"
        for size, rival, least in ((30, PEER, 1_500), (30, DENSE, 10), (100, PEER, 10_000)):
            if size == S and rival in taken:
                ratio = taken.ratio(rival, ENGINE)
                text = f"{where}: at least {least:,} × faster than {rival}"
                found.append(Promise(text, times(ratio), ratio >= least))
        for name, most in ((ENGINE, 12), (LAZY, 3)):
            if S == 30:
                ratio = taken.ratio(name, FLOOR)
                text = f"{where}: {name} takes at most {most} × the floor"
                found.append(Promise(text, times(ratio), ratio <= most))
    return found
