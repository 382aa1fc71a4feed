"""Comparison of this engine with other implementations, on the chain with S = H."""

from collections.abc import Callable

import belated as bl
import dense
from belated.simulation.run import Run
from measure import Measurement, Timings, measurement
from peer import Peer, PeerUnavailableError
from report import Report, Section, Target, format_number, format_ratio, format_ratios

SMALL_SCALE = 0.01
"""Scale of the bonus at which the learner finds the reward of chain 30 in these episodes."""

EPISODES = {5: 20_000, 10: 20_000, 20: 10_000, 30: 10_000, 100: 2_000}
"""Number of episodes for each S."""
# The next two take the same time for every episode, so that fewer episodes are sufficient.
DENSE_EPISODES = {5: 20_000, 10: 10_000, 20: 5_000, 30: 5_000, 100: 200}
PEER_EPISODES = {5: 2_000, 10: 500, 20: 100, 30: 40, 100: 2}

ENGINE, LAZY, FLOOR = "this engine", "lazy(10)", "floor"
FULL, DENSE_OBSERVED, DENSE, PEER = "full", "dense, seen rows", "dense", "rlberry-scool"
IMPLEMENTATIONS = (FLOOR, LAZY, ENGINE, FULL, DENSE_OBSERVED, DENSE, PEER)
RATIOS = (
    (PEER, ENGINE),
    (DENSE, ENGINE),
    (DENSE_OBSERVED, ENGINE),
    (FULL, ENGINE),
    (ENGINE, FLOOR),
    (LAZY, FLOOR),
)


def measure_implementations(report: Report, *, quick: bool, repeats: int) -> None:
    """Add the times of all implementations, their ratios and the targets.

    Parameters
    ----------
    report : Report
        Receives sections and targets.
    quick : bool
        Whether to measure two sizes only, without the peer.
    repeats : int
        Number of turns of each measurement.
    """
    peer, note = None, "A quick run does not include the peer."
    if not quick:
        try:
            peer = Peer()
            note = f"The peer is rlberry-scool {peer.version}."
        except PeerUnavailableError as error:
            note = f"The peer is skipped: {error}"
    timings = {}
    for S, scale in (*((S, 1.0) for S in ((5, 30) if quick else EPISODES)), (30, SMALL_SCALE)):
        world = bl.chain(S)
        check_regret(world, scale, episodes=min(2_000, DENSE_EPISODES[S]))
        if peer is not None:
            peer.start(world)
        timings[S, scale] = Timings(build_measurements(world, scale, peer), repeats)
    if peer is not None:
        peer.close()
    report.sections += build_sections(timings, note)
    report.targets += build_targets(timings)


def check_regret(world: bl.MDP, scale: float, *, episodes: int) -> None:
    """Assert that the dense implementations have the same regret as this engine.

    Parameters
    ----------
    world : bl.MDP
        World to play in.
    scale : float
        Scale of the bonus.
    episodes : int
        Number of episodes.
    """
    expected = simulation(world, scale, episodes)().total_regret
    for observed_only in (False, True):
        regret = dense.regret(world, episodes=episodes, scale=scale, observed_only=observed_only)
        assert abs(expected - regret) <= 1e-9, (world, expected, regret)


def simulation(
    world: bl.MDP,
    scale: float,
    episodes: int,
    updater: bl.Active | bl.Lazy | None = None,
    **options: str,
) -> Callable[[], Run]:
    """Return a function that runs this engine.

    Parameters
    ----------
    world : bl.MDP
        World to play in.
    scale : float
        Scale of the bonus.
    episodes : int
        Number of episodes.
    updater : bl.Active or bl.Lazy, optional
        Updater; active by default.
    **options
        Options of `bl.simulate`.

    Returns
    -------
    callable
        Function without parameters that returns the run.
    """
    base = bl.UCBVI_BF(preset="two_term", scale=scale)
    return lambda: bl.simulate(
        world, base=base, updater=updater or bl.Active(), episodes=episodes, **options
    )


def build_measurements(world: bl.MDP, scale: float, peer: Peer | None) -> dict[str, Measurement]:
    """Return the measurement of each implementation.

    Parameters
    ----------
    world : bl.MDP
        Chain to play in.
    scale : float
        Scale of the bonus.
    peer : Peer or None
        The peer, started in `world`, if it is measured.

    Returns
    -------
    dict[str, Measurement]
        Measurements by name.
    """
    S = world.shape.states
    K, K_dense, K_peer = EPISODES[S], DENSE_EPISODES[S], PEER_EPISODES[S]
    measurements = {
        FLOOR: measurement(simulation(world, scale, K, planning="none"), K),
        LAZY: measurement(simulation(world, scale, K, bl.Lazy(alpha=10)), K),
        ENGINE: measurement(simulation(world, scale, K), K),
        FULL: measurement(simulation(world, scale, K, planning="full"), K),
        DENSE_OBSERVED: measurement(
            lambda: dense.regret(world, episodes=K, scale=scale, observed_only=True), K
        ),
        DENSE: measurement(lambda: dense.regret(world, episodes=K_dense, scale=scale), K_dense),
    }
    if peer is not None:
        measurements[PEER] = lambda: peer.play(K_peer)
    return measurements


def format_setting(S: int, scale: float) -> str:
    """Return the label of the chain with `S` states, with the `scale` if it is not 1."""
    return str(S) if scale == 1 else f"{S}, scale={scale:g}"


def build_sections(timings: dict[tuple[int, float], Timings], note: str) -> list[Section]:
    """Return the sections of times and ratios, from `timings` by (S, scale); `note` is appended."""
    first = next(iter(timings.values()))
    names = [name for name in IMPLEMENTATIONS if name in first]
    pairs = [pair for pair in RATIOS if pair[0] in first]
    times, ratios = [], []
    for setting, timing in timings.items():
        label = format_setting(*setting)
        times.append((label, *(format_number(timing[name]) for name in names)))
        ratios.append((label, *(format_ratios(timing.ratios(*pair)) for pair in pairs)))
    return [
        Section(
            "Implementations on the chain, µs per episode",
            ("S = H", *names),
            times,
            "UCBVI-BF with the two-term bonus, counts for each step, active except for lazy(10), "
            f"no delay. With `scale=1` chain 30 is not learnt in these episodes; with "
            f"`scale={SMALL_SCALE:g}` it is, and plans change more. {note}",
        ),
        Section(
            "Implementations on the chain, ratios",
            ("S = H", *(f"{slow} / {fast}" for slow, fast in pairs)),
            ratios,
            "Median over the turns, with the smallest and the largest.",
        ),
    ]


def build_targets(timings: dict[tuple[int, float], Timings]) -> list[Target]:
    """Return the targets for the ratios of `timings` by (S, scale)."""
    targets = []
    for (S, scale), timing in timings.items():
        chain = f"chain {format_setting(S, scale)}"
        for size, name, minimum in ((30, PEER, 1_500), (30, DENSE, 10), (100, PEER, 10_000)):
            if size == S and name in timing:
                ratio = timing.ratio(name, ENGINE)
                text = f"{chain}: at least {minimum:,} × faster than {name}"
                targets.append(Target(text, format_ratio(ratio), ratio >= minimum))
        for size, name, maximum in ((30, ENGINE, 12), (30, LAZY, 3)):
            if size == S:
                ratio = timing.ratio(name, FLOOR)
                text = f"{chain}: {name} takes at most {maximum} × the floor"
                targets.append(Target(text, format_ratio(ratio), ratio <= maximum))
    return targets
