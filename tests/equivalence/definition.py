"""A learner under delayed feedback by definition, in plain NumPy.

Everything that a run should contain is computed from the paths and the delays: at the start of
episode k, feedback of episode i counts if and only if i + tau_i < k. Counts are recounted from all
episodes for every plan, and each base is written as its formula on dense arrays. No kernel and no
class of the learner or of the simulation is used: only the public bases and updaters, which hold
options, the world's dense arrays, the draws of a delay law, and `bl.theory.best_alpha`.

Where several actions are equally good the sums here, in another order, cannot tell which one comes
first. Paths therefore follow the policies of the run, and `Expected.q` tells whether each of them
is greedy.
"""

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import belated as bl

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

START, TRANSITION, REWARD, TIES, EXPLORE, POSTERIOR, POSTERIOR_REWARD = 0, 1, 2, 4, 5, 6, 7
VALUE_NOISE = 8
NEVER = 2**62
ROUNDING = 1e-9
UNIT = 2.0**32  # rewards are summed in whole numbers of 1 / UNIT
TIE_TOLERANCE = 1e-11
DEFAULTS = {"delta": 0.05, "scale": 1.0, "monotone": False, "ties": "first"}


def option(base: Any, name: str) -> Any:
    """Return an option of `base`, or its default where the base has no such option."""
    return getattr(base, name, DEFAULTS[name])


# Randomness: Philox4x32-10 (Salmon et al. 2011)


def philox(counter: tuple[Any, ...], key: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return four 32-bit words from a counter of four and a key of two; arrays are allowed."""
    word, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    c0, c1, c2, c3 = (np.asarray(c, np.uint64) for c in counter)
    k0, k1 = (np.uint64(k) for k in key)
    for _ in range(10):
        low, high = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        c0, c1 = (high >> half) ^ c1 ^ k0, high & word
        c2, c3 = (low >> half) ^ c3 ^ k1, low & word
        k0 = (k0 + np.uint64(0x9E3779B9)) & word
        k1 = (k1 + np.uint64(0xBB67AE85)) & word
    return c0, c1, c2, c3


def uniforms(seed: int, stream: Any, episodes: Any, steps: Any) -> Floats:
    """Return the uniforms at (stream, episode, step), broadcast over all three."""
    first = np.asarray(episodes, np.uint64)
    word, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    counter = (steps, first & word, first >> half, stream)
    w0, w1, _, _ = philox(counter, (seed & 0xFFFFFFFF, seed >> 32))
    high, low = (w0 >> np.uint64(5)).astype(np.float64), (w1 >> np.uint64(6)).astype(np.float64)
    return (high * 2.0**26 + low) / 2.0**53


def gammas(seed: int, stream: int, plan: int, cells: Ints, shapes: Floats) -> Floats:
    """Return Gamma(shape, 1) variables (Marsaglia, Tsang 2000), one stream for each uniform."""
    flat, shape = cells.ravel(), np.asarray(shapes, np.float64).ravel()
    boosted = np.where(shape < 1, shape + 1, shape)
    d = boosted - 1 / 3
    out, left = np.zeros(flat.size), np.arange(flat.size)
    first = 1 - uniforms(seed, stream, plan, flat)
    for rounds in np.arange(40).reshape(-1, 5):
        streams = stream + ((3 * rounds[:, None, None] + np.arange(1, 4)[:, None]) << 8)
        u = uniforms(seed, streams, plan, flat[left])  # (rounds, 3, cells)
        x = np.sqrt(-2 * np.log(1 - u[:, 0])) * np.cos(2 * math.pi * u[:, 1])
        root = np.maximum(0, 1 + x / np.sqrt(9 * d[left]))
        with np.errstate(divide="ignore"):
            log_v = 3 * np.log(root)
        accepted = np.log(1 - u[:, 2]) < x**2 / 2 + d[left] * (1 - root**3 + log_v)
        cubes = np.take_along_axis(root, np.argmax(accepted, axis=0)[None], axis=0)[0] ** 3
        found = accepted.any(axis=0)
        out[left[found]] = (d[left] * cubes)[found]
        left = left[~found]
        if not left.size:
            break
    out *= np.where(shape < 1, first ** (1 / np.minimum(1, shape)), 1.0)
    return np.where(shape == 1, -np.log(first), out).reshape(np.shape(shapes))


def normals(seed: int, stream: int, plan: int, cells: Ints) -> Floats:
    """Return standard normal variables (Box, Muller 1958), one stream for each uniform."""
    u, angle = (uniforms(seed, stream + (i << 8), plan, cells) for i in range(2))
    return np.sqrt(-2 * np.log(1 - u)) * np.cos(2 * math.pi * angle)


# Q of one stage: each formula as it is published, over all states and actions at once


@dataclass
class Stage:
    """Counts of one step, and the values of the next."""

    n: Ints  # (S, A)
    m: Ints  # (S, A, S)
    r: Floats  # (S, A) rewards, known or estimated
    v: Floats  # (S) of the next step
    visits: Ints  # (S) of the next step; zero after the last one
    cap: int  # H - h + 1 in the paper's count
    H: int
    K: int
    delta: float

    @cached_property
    def sizes(self) -> tuple[int, int]:
        return self.n.shape[0], self.n.shape[1]

    @cached_property
    def seen(self) -> Ints:
        return np.maximum(1, self.n)

    @cached_property
    def p(self) -> Floats:
        return self.m / self.seen[..., None]

    @cached_property
    def mean(self) -> Floats:
        return self.p @ self.v

    @cached_property
    def variance(self) -> Floats:
        return np.sum(self.p * (self.v - self.mean[..., None]) ** 2, axis=2)

    @cached_property
    def span(self) -> float:
        return float(self.v.max() - self.v.min())


def with_bonus(stage: Stage, beta: Floats) -> Floats:
    """Eq. 4; an unseen triple has the largest value."""
    beta = np.where(stage.n == 0, np.inf, beta)
    return np.minimum(stage.cap, stage.r + stage.mean + np.minimum(stage.cap - 1, beta))


def with_maximum(stage: Stage, best: Floats) -> Floats:
    """The largest value over a set of models; an unseen triple may lead anywhere."""
    return np.minimum(stage.cap, stage.r + np.where(stage.n == 0, stage.v.max(), best))


def ubev(base: Any, stage: Stage) -> Floats:
    S, A = stage.sizes
    loglog = np.log(np.log(np.maximum(math.e, stage.seen)))
    phi = np.sqrt((2 * loglog + math.log(18 * S * A * stage.H / stage.delta)) / stage.seen)
    reach = stage.span if base.range == "span" else stage.cap - 1
    return with_maximum(stage, np.minimum(stage.v.max(), stage.mean + base.scale * reach * phi))


def azar_log(stage: Stage) -> float:
    S, A = stage.sizes
    return math.log(5 * S * A * stage.H * stage.K / stage.delta)


def ucbvi_ch(base: Any, stage: Stage) -> Floats:
    reach = stage.H if base.range == "H" else stage.cap - 1
    return with_bonus(stage, base.scale * 7 * reach * azar_log(stage) / np.sqrt(stage.seen))


def ucbvi_bf(base: Any, stage: Stage) -> Floats:
    (S, A), H, N, L, var = stage.sizes, stage.H, stage.seen, azar_log(stage), stage.variance
    freedman = np.sqrt(8 * L * var / N) + 14 * H * L / (3 * N)
    if base.preset == "literal":
        with np.errstate(divide="ignore"):
            doubt = np.minimum(100**2 * H**3 * S**2 * A * L**2 / stage.visits, H**2)
        beta = freedman + np.sqrt(8 * (stage.p @ doubt) / N)
    elif base.preset == "no_third":
        beta = freedman
    elif base.preset == "two_term":
        beta = np.sqrt(2 * L * var / N) + H * L / N
    elif base.preset == "emp_bernstein":
        beta = np.sqrt(2 * L * var / N) + 7 * (stage.cap - 1) * L / (3 * np.maximum(1, N - 1))
    else:
        beta = 1 / np.sqrt(N) + stage.cap / N
    return with_bonus(stage, base.scale * beta)


def ucrl2(base: Any, stage: Stage) -> Floats:
    S, A = stage.sizes
    T, delta = stage.H * stage.K, stage.delta
    c = {
        "weissman": 2 * (S * math.log(2) + math.log(S * A * T / delta)),
        "common": 2 * S * math.log(2 * S * A * T / delta),
        "jaksch": 14 * S * math.log(2 * A * T / delta),
        "paper": 6 * S * math.log(A * T * math.pi / (6 * option(base, "delta") / 5)),
    }[base.radius]
    eps = base.scale * np.sqrt(c / stage.seen)
    if base.form == "bonus":
        return with_bonus(stage, eps / 2 * stage.span)
    # move eps / 2 of mass to the best state, from the worst ones first
    order = np.argsort(stage.v)
    p, left = stage.p.copy(), eps / 2
    for y in order[:-1]:
        moved = np.minimum(left, p[..., y])
        p[..., y] -= moved
        p[..., order[-1]] += moved
        left = left - moved
    return with_maximum(stage, p @ stage.v)


def ucrl2b(base: Any, stage: Stage) -> Floats:
    S, A = stage.sizes
    N = stage.seen[..., None]
    log = np.log(6 * S * A * stage.H * N / stage.delta)
    b = base.scale * (2 * np.sqrt(stage.p * (1 - stage.p) * log / N) + 6 * log / N)
    if base.form == "bonus":
        return with_bonus(stage, np.min([b @ np.abs(stage.v - c) for c in stage.v], axis=0))
    p = np.maximum(0, stage.p - b)
    free = 1 - p.sum(axis=2)
    for y in np.argsort(-stage.v):
        filled = np.minimum(free, np.minimum(1, stage.p[..., y] + b[..., y]) - p[..., y])
        p[..., y] += filled
        free = free - filled
    return with_maximum(stage, p @ stage.v)


def kl_ucrl(base: Any, stage: Stage) -> Floats:
    (S, A), H, N = stage.sizes, stage.H, stage.seen
    if S == 1:
        c: Any = 0.0
    elif base.radius == "uniform":
        c = math.log(S * A * H / stage.delta) + (S - 1) * np.log(math.e * (1 + N / (S - 1)))
    else:
        log_k = math.log(max(3, stage.K))
        B = math.log(2 * math.e * S**2 * A * H * log_k / stage.delta)
        G = B + 1 / log_k
        c = S * (B + math.log(G) * (1 + 1 / G))
    eps = base.scale * c / N
    if base.form == "bonus":
        return with_bonus(stage, np.sqrt(2 * eps * stage.variance) + eps * stage.span)
    # the dual: min over nu >= max V of nu - exp(sum_y p(y) ln(nu - V(y)) - eps), which is convex
    top = stage.v.max()
    low, high = np.full(N.shape, -40.0), np.full(N.shape, 12.0)  # of ln(nu - max V)
    for _ in range(6):
        x = np.linspace(low, high, 30, axis=-1)
        logs = np.log(np.exp(x)[..., None] + (top - stage.v))
        dual = top + np.exp(x) - np.exp(np.einsum("say,sagy->sag", stage.p, logs) - eps[..., None])
        at = np.argmin(dual, axis=-1)[..., None]
        low = np.take_along_axis(x, np.maximum(0, at - 1), axis=-1)[..., 0]
        high = np.take_along_axis(x, np.minimum(29, at + 1), axis=-1)[..., 0]
    best = np.minimum(dual.min(axis=-1), top)
    return with_maximum(stage, np.where(eps > 0, best, stage.mean))


def chi2_ucrl(base: Any, stage: Stage) -> Floats:
    (S, A), N = stage.sizes, stage.seen
    log = math.log(4 * S**2 * A * stage.H * stage.K / stage.delta)
    if base.radius == "practical":
        eps = base.scale * S * log / N
    else:
        with np.errstate(divide="ignore"):
            wide = np.where(N > 1, log * N / (N - 1), np.inf)
        eps = base.scale * S / N * (np.sqrt(2 * wide) + 7 * wide / 3) ** 2
    w = np.maximum(stage.m, 1) / N[..., None]
    if base.form == "bonus":
        centre = np.sum(w * stage.v, axis=2) / w.sum(axis=2)
        squares = np.sum(w * (stage.v - centre[..., None]) ** 2, axis=2)
        finite = np.where(eps == np.inf, 0, eps)
        unseen = np.minimum(stage.cap, stage.r + stage.cap - 1)
        return np.where(eps == np.inf, unseen, with_bonus(stage, np.sqrt(finite * squares)))
    # For every set of states that may keep mass: the maximum over the part of the ball with mass
    # there only, if its maximiser is not negative.
    sets = itertools.product((False, True), repeat=S)
    kept = np.array([one for one in sets if any(one)])[:, None, None, :]
    p, v = np.where(kept, stage.p, 0.0), stage.v
    weight = np.where(kept, w, 0.0)
    total, lost = weight.sum(axis=-1), 1 - p.sum(axis=-1)
    used = np.sum(np.where(kept, 0.0, stage.p**2 / w), axis=-1) + lost**2 / total
    centre = (weight @ v / total)[..., None]
    squares = np.sum(weight * (v - centre) ** 2, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        tilt = np.where(squares > 1e-24, np.sqrt(np.maximum(0, eps - used) / squares), 0.0)
        q = p + weight * (tilt[..., None] * (v - centre) + (lost / total)[..., None])
        value = np.where((used <= eps + 1e-15) & (q >= -1e-12).all(axis=-1), q @ v, -np.inf)
    return with_maximum(stage, np.where(eps == np.inf, v.max(), value.max(axis=0)))


def greedy(base: Any, stage: Stage) -> Floats:
    return stage.r + np.where(stage.n == 0, 0.0, stage.mean)


BACKUPS = {
    "ubev": ubev,
    "ucbvi-ch": ucbvi_ch,
    "ucbvi-bf": ucbvi_bf,
    "ucrl2": ucrl2,
    "ucrl2b": ucrl2b,
    "kl-ucrl": kl_ucrl,
    "chi2-ucrl": chi2_ucrl,
    "epsilon-greedy": greedy,
    "random": lambda base, stage: np.zeros(stage.n.shape),
}


# A run


@dataclass
class Setting:
    """Arguments of `bl.simulate` that a run was made with."""

    world: bl.MDP
    base: Any
    updater: Any
    delay: Any
    episodes: int
    seed: int = 0
    stages: str = "each"
    rewards: str | None = "known"
    late: str = "everything"
    delay_per: str = "episode"
    reward_bonus: str = "hoeffding"
    rule: Any = None  # law of a path, from (states, actions, rewards), if delays depend on it

    @property
    def sizes(self) -> tuple[int, int, int]:
        shape = self.world.shape
        return shape.horizon, shape.states, shape.actions

    def draw_delays(self) -> Ints:
        """Return (K, H) delays: equal along an episode, or one for each step.

        They are not known yet if they depend on the path.
        """
        if self.rule is not None:
            return np.zeros((self.episodes, self.sizes[0]), np.int64)
        steps = range(self.sizes[0]) if self.delay_per == "step" else [0] * self.sizes[0]
        draws = [self.delay.draw(seed=self.seed, episodes=self.episodes, step=h) for h in steps]
        return np.stack(draws, axis=1)


class Expected(NamedTuple):
    """Everything that a run should contain."""

    q: Floats  # (K, H, S, A) of the plan in force
    address: Ints  # (K) number of that plan, which addresses its ties
    marks: NDArray[np.bool_]  # (K, H, S, A) actions that explicit exploration draws from
    gaps: Floats  # (K) regret of each episode
    too_low: Floats  # (K) V*_1(s_1) - V~_1(s_1)
    alpha: Floats  # (K)
    updates: int
    epochs: int
    instances: int
    max_missing: int
    missing: int
    mean_delay: float
    longest_delay: float
    last_explored: int
    in_flight: Floats  # (stages, S, A)


class Copy:
    """One copy of the base: the plan in force, and the counts of its epoch."""

    def __init__(self) -> None:
        self.plans = 0
        self.epochs = 0  # plans that the updater asked for, and the first
        self.planned = 1  # episode before which the last of them was made
        self.alpha = math.inf
        self.epoch: Any = None
        self.r: Any = None
        self.q: Any = None
        self.v: Any = None


class Definition:
    """A run computed again from its policies, its delays and its world."""

    def __init__(self, setting: Setting, policies: Any) -> None:
        self.setting = setting
        self.policies = policies
        H, K = setting.sizes[0], setting.episodes
        self.p, self.rewards = setting.world.transition_table(), setting.world.reward_table()
        self.unknown = setting.rewards is None
        self.late_rewards = setting.late == "rewards"
        matured = setting.updater.name == "matured"
        self.rule = setting.updater.updater if matured else setting.updater
        self.multi = self.rule.name == "multi"
        self.stepwise = setting.base.name == "q-learning"
        self.delays = setting.draw_delays()
        self.arrival = np.arange(1, K + 1)[:, None] + self.delays  # usable after this episode
        if matured:  # counted at the start of k only if k - i >= age
            self.arrival = np.maximum(self.arrival, np.arange(K)[:, None] + setting.updater.age)
        self.states = np.zeros((K, H + 1), np.int64)
        self.actions = np.zeros((K, H), np.int64)
        self.played = np.zeros((K, H), np.bool_)  # steps before a terminal state
        self.open = open_actions(setting.world)
        self.ended = np.isin(np.arange(setting.sizes[1]), setting.world.shape.terminal)
        self.paid = np.zeros((K, H))
        self.owner = np.full(K, -1)
        self.copies: list[Copy] = []
        self.waited = 0
        self.values: dict[tuple[bytes, bytes], Floats] = {}
        episodes = np.arange(1, K + 1)[:, None]
        self.u = {
            stream: uniforms(setting.seed, stream, episodes, np.arange(H))
            for stream in (START, TRANSITION, REWARD, EXPLORE)
        }
        self.epsilon = {"epsilon-greedy": getattr(setting.base, "epsilon", 0.0), "random": 1.0}.get(
            setting.base.name, 0.0
        )

    # counts

    def tables(self, mask: Any) -> tuple[Ints, Ints]:
        """Return N' and M' over the steps of `mask`, (H, S, A) and (H, S, A, S)."""
        H, S, A = self.setting.sizes
        i, h = np.nonzero(mask)
        m = np.zeros((H, S, A, S), np.int64)
        np.add.at(m, (h, self.states[i, h], self.actions[i, h], self.states[i, h + 1]), 1)
        if self.setting.stages == "pooled":
            m[:] = m.sum(axis=0)
        return m.sum(axis=3), m

    def arrived(self, k: int, copy: int) -> Any:
        """Return which steps' late feedback `copy` has at the start of episode k."""
        return (self.arrival < k) & (self.owner == copy)[:, None] & self.played

    def walked(self, k: int, copy: int) -> Any:
        """Return which steps' transitions it has: all played ones, if only rewards are late."""
        if not self.late_rewards:
            return self.arrived(k, copy)
        return (self.owner == copy)[:, None] & self.played

    # rewards

    def estimate_rewards(self, k: int, index: int, plan: int) -> Floats:
        """Return r~ (H, S, A) from the rewards that have arrived (ALGORITHMS, section 0.2)."""
        setting, base = self.setting, self.setting.base
        H, S, A = setting.sizes
        i, h = np.nonzero(self.arrived(k, index))
        at = (h, self.states[i, h], self.actions[i, h])
        n, total, squares = np.zeros((3, H, S, A))
        np.add.at(n, at, 1)
        np.add.at(total, at, np.floor(self.paid[i, h] * UNIT + 0.5) / UNIT)
        np.add.at(squares, at, np.floor(self.paid[i, h] ** 2 * UNIT + 0.5) / UNIT)
        if setting.stages == "pooled":
            n[:], total[:], squares[:] = n.sum(axis=0), total.sum(axis=0), squares.sum(axis=0)
        if base.name == "psrl":
            stages = 1 if setting.stages == "pooled" else H
            cells = 2 * np.arange(stages * S * A).reshape(stages, S, A)
            given = (setting.seed, POSTERIOR_REWARD, plan)
            x = gammas(*given, cells, 1 + total[:stages])
            y = gammas(*given, cells + 1, 1 + np.maximum(0, n - total)[:stages])
            return np.broadcast_to(x / (x + y), (H, S, A))
        if base.name == "rlsvi":
            return total / (n + 1)
        seen = np.maximum(1, n)
        mean = total / seen
        if base.name in ("epsilon-greedy", "random"):
            return mean
        T, delta = H * setting.episodes, option(base, "delta") / 2
        log = np.log(6 * S * A * H * seen / delta)
        loglog = np.log(np.log(np.maximum(math.e, seen)))
        variance = np.maximum(0, squares / seen - mean * mean)
        eps = {
            "hoeffding": lambda: np.sqrt(math.log(2 * S * A * T / delta) / (2 * seen)),
            "paper": lambda: np.sqrt(
                6 * math.log(2 * S * A * T * math.pi / (6 * option(base, "delta") / 5)) / seen
            ),
            "jaksch": lambda: np.sqrt(7 * math.log(2 * S * A * T / delta) / (2 * seen)),
            "filippi": lambda: np.sqrt(
                math.log(4 * S * A * H * math.log(max(3, T)) / delta) / (1.99 * seen)
            ),
            "bernstein": lambda: 2 * np.sqrt(variance * log / seen) + 6 * log / seen,
            "ubev": lambda: np.sqrt((2 * loglog + math.log(18 * S * A * H / delta)) / seen),
        }[setting.reward_bonus]()
        return np.where(n == 0, 1.0, np.minimum(1, mean + option(base, "scale") * eps))

    # plans

    def plan(self, k: int, index: int, *, refresh: bool) -> None:
        """Plan with what `copy` has at the start of episode k; estimate rewards if `refresh`."""
        setting, base, copy = self.setting, self.setting.base, self.copies[index]
        H, S, A = setting.sizes
        address = copy.plans + (index << 32)
        if refresh:
            copy.epochs, copy.planned = copy.epochs + 1, k
            copy.r = self.estimate_rewards(k, index, address) if self.unknown else self.rewards
        n, m = self.tables(self.walked(k, index))
        if self.stepwise:
            copy.q, copy.v = self.learn(k, index)
        else:
            q, v = np.zeros((H, S, A)), np.zeros((H + 1, S))
            drawn = self.draw_model(m, address) if base.name == "psrl" else None
            for h in range(H - 1, -1, -1):
                if drawn is not None:
                    q[h] = copy.r[h] + drawn[h] @ v[h + 1]
                elif base.name == "rlsvi":
                    q[h] = self.randomised(n, m, h, v[h + 1], address) + copy.r[h]
                elif base.name in ("fixed", "optimal"):
                    q[h] = (H - h) * np.eye(A)[self.constant_actions[h]]
                else:
                    visits = n[h + 1].sum(axis=1) if h + 1 < H else np.zeros(S, np.int64)
                    delta = option(base, "delta") / (2 if self.unknown else 1)
                    stage = Stage(
                        n[h], m[h], copy.r[h], v[h + 1], visits, H - h, H, setting.episodes, delta
                    )
                    q[h] = BACKUPS[base.name](base, stage)
                q[h] = self.restrict(q[h], h)
                if option(base, "monotone") and copy.q is not None and drawn is None:
                    q[h] = np.minimum(q[h], copy.q[h])
                v[h] = q[h].max(axis=1)
            copy.q, copy.v = q, v
        copy.plans += 1
        if refresh:
            copy.alpha = self.choose_alpha(k)
        if refresh or not self.late_rewards:
            copy.epoch = self.tables(self.arrived(k, index))[0]

    def restrict(self, q: Floats, h: int) -> Floats:
        """Return Q of step h with a value of 0 in terminal states and without closed actions."""
        return np.where(self.open[h], np.where(self.ended[:, None], 0.0, q), -np.inf)

    @cached_property
    def constant_actions(self) -> Ints:
        """Actions of a base that never changes, (H, S): as the run shows them, if not given."""
        if self.setting.base.name == "fixed":
            return np.array(self.setting.base.actions)
        shown = np.max(self.policies, axis=0)  # -1 where it always explores
        return np.where(shown < 0, self.open.argmax(axis=2), shown)

    def draw_model(self, m: Ints, address: int) -> Floats:
        """Return transitions drawn from their Dirichlet posterior, (H, S, A, S)."""
        H, S, A = self.setting.sizes
        stages = 1 if self.setting.stages == "pooled" else H
        cells = np.arange(stages * S * A * S).reshape(stages, S, A, S)
        weights = self.setting.base.prior + m[:stages]
        x = gammas(self.setting.seed, POSTERIOR, address, cells, weights)
        return np.broadcast_to(x / x.sum(axis=3, keepdims=True), (H, S, A, S))

    def randomised(self, n: Ints, m: Ints, h: int, v: Floats, address: int) -> Floats:
        """Return <P^, V> + w of step h, (S, A), where w ~ N(0, beta / (N' + 1)) (Russo 2019)."""
        base, (H, S, A) = self.setting.base, self.setting.sizes
        steps = n[0].sum() if self.setting.stages == "pooled" else n.sum()
        k = 1 + steps / H if base.k == "observed" else self.setting.episodes
        beta = S * H**3 * math.log(2 * H * S * A * k) / 2
        cells = (h * S + np.arange(S)[:, None]) * A + np.arange(A)
        w = normals(self.setting.seed, VALUE_NOISE, address, cells)
        v = np.clip(v, 0, H - h - 1) if base.clip else v
        return m[h] @ v / (n[h] + 1) + base.scale * np.sqrt(beta / (n[h] + 1)) * w

    def learn(self, k: int, index: int) -> tuple[Floats, Floats]:
        """Return Q and V of Q-learning after all feedback, in the order of arrival."""
        setting, base = self.setting, self.setting.base
        H, S, A = setting.sizes
        caps = [H - h if base.range == "H-h+1" else H for h in range(H)]
        q = np.array([self.restrict(np.full((S, A), float(cap)), h) for h, cap in enumerate(caps)])
        v = np.array([*q.max(axis=2), np.zeros(S)])
        log = math.log(S * A * H * setting.episodes / self.delta_of_base)
        memory: dict[tuple[int, int, int], list[float]] = {}
        for _, i, h in sorted((self.arrival[i, h], i, h) for i, h in self.steps(k, index)):
            s, a, y = (int(x[i, h]) for x in (self.states, self.actions, self.states[:, 1:]))
            kept = memory.setdefault((h, s, a), [0, 0.0, 0.0, 0.0])
            kept[0] += 1
            t, value = kept[0], float(v[h + 1, y])
            rate = (H + 1) / (H + t)
            bonus = beta = base.scale * math.sqrt(H**3 * log / t)
            if base.bonus == "bernstein":
                kept[1] += value
                kept[2] += value**2
                spread = max(0.0, kept[2] / t - (kept[1] / t) ** 2)
                narrow = math.sqrt(H * (spread + H) * log / t) + math.sqrt(H**7 * S * A) * log / t
                beta = min(beta, base.scale * narrow)
                bonus = (beta - (1 - rate) * kept[3]) / (2 * rate)
                kept[3] = beta
            reward = self.paid[i, h] if self.unknown else self.rewards[h, s, a]
            q[h, s, a] = (1 - rate) * q[h, s, a] + rate * (reward + value + bonus)
            v[h, s] = min(caps[h], q[h, s].max())
        return q, v

    def steps(self, k: int, index: int) -> list[tuple[int, int]]:
        i, h = np.nonzero(self.arrived(k, index))
        return list(zip(i.tolist(), h.tolist(), strict=True))

    @property
    def delta_of_base(self) -> float:
        """Half of delta is for rewards if they are unknown."""
        return option(self.setting.base, "delta") / (2 if self.unknown else 1)

    # when to plan

    def choose_alpha(self, k: int) -> float:
        updater, base = self.rule, self.setting.base
        if updater.name != "lazy" or updater.alpha != "auto":
            return updater.alpha if updater.name == "lazy" else math.inf
        known = base.name in BACKUPS and base.name not in ("epsilon-greedy", "random")
        return bl.theory.best_alpha(
            self.setting.world.shape,
            episodes=self.setting.episodes,
            mean_delay=self.waited / (k - 1) if k > 1 else 0.0,
            base=base.name if known else "ucbvi-ch",
            delta=option(base, "delta"),
            scale=option(base, "scale"),
        )

    def is_due(self, k: int, index: int) -> bool:
        """Return the updater's condition for `copy` at the start of episode k."""
        if self.rule.name in ("batched", "scheduled"):
            return self.is_time(k, self.copies[index])
        if self.rule.name != "lazy":
            new = (self.arrival == k - 1) & (self.owner == index)[:, None] & self.played
            return bool(new.any())
        copy = self.copies[index]
        n = self.tables(self.arrived(k, index))[0]
        new = n - copy.epoch
        with np.errstate(invalid="ignore"):
            return bool(((new > 0) & (copy.alpha * new >= copy.epoch)).any())

    def is_time(self, k: int, copy: Copy) -> bool:
        """Return whether a batch is complete, or a plan is scheduled, at the start of episode k."""
        rule, K = self.rule, self.setting.episodes
        if rule.name == "batched":
            own = np.arange(1, K + 1) >= copy.planned
            back = int((own & (self.done < k) & self.played[:, 0]).sum())
            return back >= batch_size(rule, copy.epochs, K)
        if rule.unit == "episodes":
            return k - copy.planned >= rule.every
        new = (self.arrival >= copy.planned) & (self.arrival < k) & self.played
        if self.setting.delay_per == "episode":
            new = new[:, :1]
        return int(new.sum()) >= rule.every

    @property
    def plans_every_episode(self) -> bool:
        base = self.setting.base
        if base.name not in ("psrl", "rlsvi") or self.multi:
            return False
        lazy = self.rule.name in ("lazy", "batched", "scheduled")
        return base.resample == "episode" or (base.resample == "auto" and not lazy)

    @property
    def done(self) -> Ints:
        """Return the episode after which each episode's feedback is complete, (K)."""
        return np.where(self.played, self.arrival, 0).max(axis=1)

    def open_copy(self, k: int) -> int:
        """Return the copy that plays episode k: the first one that waits for nothing."""
        busy = set(self.owner[: k - 1][self.done[: k - 1] >= k].tolist())
        index = min(set(range(len(self.copies) + 1)) - busy) if self.multi else 0
        if index == len(self.copies):
            self.copies.append(Copy())
            self.plan(k, index, refresh=True)
        return index

    # what is played

    def marks(self, k: int) -> NDArray[np.bool_]:
        """Return the actions that explicit exploration draws from, (H, S, A)."""
        H, S, A = self.setting.sizes
        rule = self.rule
        if rule.name != "explicit":
            return np.zeros((H, S, A), np.bool_)
        m = rule.threshold
        if m is None:
            size = {"SH": S * H, "SHA": S * H * A, "none": math.e * rule.delta}[rule.log]
            counted = self.arrival - np.arange(1, self.setting.episodes + 1)[:, None]
            tau_max = counted.max() if rule.tau_max is None else rule.tau_max
            m = rule.c * tau_max * math.log(size / rule.delta)
        i, h = np.nonzero(self.arrived(k, 0))
        seen = np.zeros((H, S, A), np.int64)
        np.add.at(seen, (h, self.states[i, h], self.actions[i, h]), 1)
        if rule.pooled:
            seen[:] = seen.sum(axis=0)
        choices = self.open & ~self.ended[:, None]
        few = seen.sum(axis=2, keepdims=True) < m if rule.unit == "sh" else (seen < m) & choices
        if rule.draw == "all":
            few = few.any(axis=2, keepdims=True)
        return few & choices

    def play(self, k: int, marks: NDArray[np.bool_]) -> bool:
        """Play episode k as the run did; return whether explicit exploration drew an action."""
        world, i = self.setting.world, k - 1
        explored = False
        s = first_above(np.cumsum(world.start), self.u[START][i, 0])
        self.states[i, 0] = s
        for h in range(self.setting.sizes[0]):
            if self.ended[s]:
                break
            self.played[i, h] = True
            u, a = float(self.u[EXPLORE][i, h]), int(self.policies[i, h, s])
            choices = np.flatnonzero(marks[h, s])
            if choices.size:
                explored = True
                a = int(choices[int(u * choices.size)])
            elif u < self.epsilon:
                choices = np.flatnonzero(self.open[h, s])
                a = int(choices[int(u / self.epsilon * choices.size)])
            mean, luck = self.rewards[h, s, a], float(self.u[REWARD][i, h])
            if world.reward_draws == "bernoulli":
                self.paid[i, h] = luck < mean
            elif world.reward_draws == "beta" and 0 < mean < 1:
                self.paid[i, h] = luck ** ((1 - mean) / mean)
            else:
                self.paid[i, h] = mean
            self.actions[i, h] = a
            s = first_above(np.cumsum(self.p[h, s, a]), self.u[TRANSITION][i, h])
            self.states[i, h + 1] = s
        return explored

    def recount_delays(self, k: int) -> None:
        """Set the delays of the steps of episode k to those of the law that its path selects."""
        setting, i = self.setting, k - 1
        t = int(self.played[i].sum())
        law = setting.rule(self.states[i, : t + 1], self.actions[i, :t], self.paid[i, :t])
        for h in range(t):
            step = h if setting.delay_per == "step" else 0
            self.delays[i, h] = law.draw(seed=setting.seed, episodes=k, step=step)[-1]
        self.arrival[i] = k + self.delays[i]

    def value(self, k: int, marks: NDArray[np.bool_]) -> Floats:
        """Return V^pi_1 of the policy of episode k."""
        known = (self.policies[k - 1].tobytes(), marks.tobytes())
        if known not in self.values:
            self.values[known] = self.evaluate(k, marks)
        return self.values[known]

    def evaluate(self, k: int, marks: NDArray[np.bool_]) -> Floats:
        A = self.setting.sizes[2]
        weights = np.eye(A)[np.maximum(0, self.policies[k - 1])]
        drawn = self.open / self.open.sum(axis=2, keepdims=True)
        weights = (1 - self.epsilon) * weights + self.epsilon * drawn
        count = marks.sum(axis=2, keepdims=True)
        weights = np.where(count > 0, marks / np.maximum(1, count), weights)
        v = np.zeros(self.setting.sizes[1])
        for h in range(len(weights) - 1, -1, -1):
            v = np.sum(weights[h] * (self.rewards[h] + self.p[h] @ v), axis=1)
        return v

    # everything

    def expect(self) -> Expected:
        """Return everything that the run should contain."""
        setting = self.setting
        H, S, A = setting.sizes
        K = setting.episodes
        v_star = optimal_values(setting.world)[1][0]
        q, address, marks = np.zeros((K, H, S, A)), np.zeros(K, np.int64), []
        gaps, too_low, alpha, missing = np.zeros(K), np.zeros(K), np.zeros(K), []
        last_explored = 0
        for k in range(1, K + 1):
            for index in range(len(self.copies)):
                told = k > 1 and self.late_rewards and self.owner[k - 2] == index
                due = self.is_due(k, index)
                if due or (told and not self.stepwise) or self.plans_every_episode:
                    self.plan(k, index, refresh=due or self.plans_every_episode)
            index = self.open_copy(k)
            copy = self.copies[index]
            missing.append(int((self.done[: k - 1] >= k).sum()))
            self.waited += missing[-1]
            marks.append(self.marks(k))
            explored = self.play(k, marks[-1])
            if setting.rule is not None:
                self.recount_delays(k)
            self.owner[k - 1] = index
            start = self.states[k - 1, 0]
            q[k - 1], address[k - 1] = copy.q, copy.plans - 1 + (index << 32)
            alpha[k - 1] = copy.alpha
            gaps[k - 1] = v_star[start] - self.value(k, marks[-1])[start]
            too_low[k - 1] = v_star[start] - copy.v[0, start]
            last_explored = k if explored else last_explored
        used = int(self.owner.max()) + 1
        every, back = (
            self.tables(mask)[0][: 1 if setting.stages == "pooled" else H]
            for mask in (self.played, self.played & (self.arrival < K))
        )
        return Expected(
            q=q,
            address=address,
            marks=np.array(marks),
            gaps=gaps,
            too_low=too_low,
            alpha=alpha,
            epochs=sum(copy.plans for copy in self.copies[:used]),
            updates=sum(copy.plans for copy in self.copies[:used]) - used,
            instances=used,
            max_missing=max(missing),
            missing=int((self.done >= K).sum()),
            mean_delay=self.waited / K,
            longest_delay=math.inf if self.delays.max() >= NEVER else float(self.delays.max()),
            last_explored=last_explored,
            in_flight=(every - back) / np.maximum(1, every),
        )


def batch_size(rule: Any, m: int, K: int) -> int:
    """Return t_m, the number of own episodes whose feedback ends batch m of a run of K episodes."""
    if rule.grid == "doubling":
        return int(2 ** (m - 1))
    if rule.grid == "minimax":
        last = max(1, math.ceil(math.log2(math.log2(K))) + 1)
        return math.ceil(K ** (1 - 2.0 ** -min(m, last)) - ROUNDING)
    return int(rule.grid[min(m, len(rule.grid)) - 1])


def first_above(cumulative: Floats, u: float) -> int:
    """Return the first index whose cumulative probability is above `u`."""
    return int(np.searchsorted(cumulative[:-1], u, side="right"))


def open_actions(world: bl.MDP) -> NDArray[np.bool_]:
    """Return which actions can be chosen, (H, S, A): allowed ones; the first one after the end."""
    shape = world.shape
    allowed = np.ones(shape.table, np.bool_) if shape.allowed is None else shape.allowed.copy()
    for s in shape.terminal:
        allowed[:, s] = np.arange(shape.actions) == 0
    return allowed


def optimal_values(world: bl.MDP) -> tuple[Floats, Floats]:
    """Return Q*, (H, S, A), which is -inf for closed actions, and V*, (H + 1, S)."""
    p, rewards, allowed = world.transition_table(), world.reward_table(), open_actions(world)
    H, S, _ = rewards.shape
    q, v = np.zeros(rewards.shape), np.zeros((H + 1, S))
    for h in range(H - 1, -1, -1):
        q[h] = np.where(allowed[h], rewards[h] + p[h] @ v[h + 1], -np.inf)
        v[h] = q[h].max(axis=1)
        v[h, list(world.shape.terminal)] = 0.0
    return q, v


def differences(setting: Setting, run: Any) -> list[str]:
    """Return the names of the parts of `run` that differ from the definition.

    The run must have been made with trace=True and every=1.
    """
    expected = Definition(setting, run.policies).expect()
    policies, marks = run.policies, expected.marks.any(axis=3)
    chosen = np.take_along_axis(expected.q, np.maximum(0, policies)[..., None], axis=3)[..., 0]
    best = expected.q.max(axis=3)
    gap = np.where(marks, 0.0, best - chosen)
    rule = setting.updater.updater if setting.updater.name == "matured" else setting.updater
    auto = rule.name == "lazy" and rule.alpha == "auto"
    parts = {
        "marks": np.array_equal(policies == -1, marks),
        "policies": bool((gap < ROUNDING).all()),
        "ties": option(setting.base, "ties") == "first" or ties_agree(setting, policies, expected),
        "regret": np.allclose(run.regret, np.cumsum(expected.gaps), rtol=0, atol=ROUNDING),
        "optimism": count_below(expected.too_low, run.optimism_broken),
        "alpha": np.allclose(run.alpha, expected.alpha, rtol=1e-9) if auto else run.alpha is None,
        "mean_delay": math.isclose(run.mean_delay, expected.mean_delay, abs_tol=1e-12),
        "in_flight": np.array_equal(run.in_flight, expected.in_flight),
    }
    if setting.base.name == "optimal":
        q_star = optimal_values(setting.world)[0]
        taken = np.take_along_axis(q_star[None], np.maximum(0, policies)[..., None], axis=3)
        worse = (q_star.max(axis=2) - taken[..., 0] > ROUNDING) & (policies >= 0)
        parts["optimal"] = not worse.any()
    for name in ("updates", "epochs", "instances", "max_missing", "missing", "longest_delay"):
        parts[name] = getattr(run, name) == getattr(expected, name)
    parts["last_explored"] = run.last_explored == expected.last_explored
    return [name for name, equal in parts.items() if not equal]


def count_below(too_low: Floats, broken: int) -> bool:
    """Return whether V~ is below V* by more than 1e-9 in `broken` episodes, up to rounding."""
    return (too_low > ROUNDING + 1e-12).sum() <= broken <= (too_low > ROUNDING - 1e-12).sum()


def ties_agree(setting: Setting, policies: Any, expected: Expected) -> bool:
    """Return whether ties are broken by the uniform of (plan, step, state) where ties are clear."""
    H, S, _ = setting.sizes
    q = expected.q
    below = q.max(axis=3, keepdims=True) - q
    tied = below <= TIE_TOLERANCE
    clear = ((below < TIE_TOLERANCE / 10) | (below > ROUNDING)).all(axis=3)
    cells = np.arange(H * S).reshape(H, S)
    u = uniforms(setting.seed, TIES, expected.address[:, None, None], cells)
    skip = (u * tied.sum(axis=3)).astype(np.int64)
    place = np.argmax(np.cumsum(tied, axis=3) == skip[..., None] + 1, axis=3)
    return bool((~clear | (policies == -1) | (policies == place)).all())
