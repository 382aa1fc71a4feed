"""Numbers of docs/lateness-that-tells.md: the bias of estimates, and regrets under dependent laws.

`python docs/tables.py lateness-that-tells` computes what is missing, stores it in
docs/data/lateness-that-tells.json and writes the tables; the tests read the stored numbers.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special

import belated as bl
from belated.delays.selector import group_of
from belated.episode import Episode, Floats, Ints, Policy
from belated.learner.updaters import UPDATER_NAMES
from belated.mdp.play import play
from belated.sweep.results import Results

DATA = Path(__file__).parent / "data" / "lateness-that-tells.json"
"""File of the stored numbers."""

STUDIES = ("lateness-that-tells", "lateness-that-tells-icu")
ICU = "icu-sepsis-5"
MATURED = "matured:101:active"
UPDATERS = ("active", "lazy:10", "batched:doubling", "scheduled:50", MATURED)
LEARNERS = {
    "ucrl2": "ucrl2:scale=0.03",
    "ucbvi-bf": "ucbvi-bf:preset=two_term,scale=0.03",
    "q-learning": "q-learning:scale=0.03",
}
INDEPENDENT = ("geometric:50", "constant:50")

LAWS = {
    "by_return:0=constant:0,0.5=uniform:50": "good outcomes late",
    "by_return:0=uniform:50,0.5=constant:0": "bad outcomes late",
    "by_return:0=constant:0,0.5=never:0.9:constant:0": "90 % of good outcomes never reported",
    "by_return:0=constant:0,0.5=never:1:constant:0": "good outcomes never reported",
    "by_action:0=constant:0,1=uniform:50": "first action 1 late",
    "by_state:2:2=uniform:50,else=constant:0": "state 2 at step 2 late",
}
"""Description of each dependent law of the first study."""

MATCHED = {
    "chain-5": (
        "mixture:0.59=constant:0,0.41=uniform:50",
        "mixture:0.41=constant:0,0.59=uniform:50",
        "never:0.369:constant:0",
        "never:0.41:constant:0",
        "uniform:50",
        "mixture:0.36=constant:0,0.64=uniform:50",
    ),
    "riverswim-6": (
        "mixture:0.18=constant:0,0.82=uniform:50",
        "mixture:0.82=constant:0,0.18=uniform:50",
        "never:0.738:constant:0",
        "never:0.82:constant:0",
        "uniform:50",
        "mixture:0.79=constant:0,0.21=uniform:50",
    ),
}
"""Independent law with the same shares under the optimal policy, for each law of `LAWS`."""

ICU_LAWS = {
    "by_return:0=constant:0,0.5=uniform:50": (
        "survivors late",
        "mixture:0.21=constant:0,0.79=uniform:50",
    ),
    "by_return:0=constant:0,0.5=never:0.9:constant:0": (
        "90 % of survivors never reported",
        "never:0.711:constant:0",
    ),
    "by_action:1=uniform:50,else=constant:0": (
        "first treatment 1 late",
        "",
    ),
}
"""Description and independent law of each dependent law on ICU-Sepsis; the last has none."""

CONTROL = "uniform:50"
BIAS_SEEDS = range(10)
BIAS_EPISODES = 2000
TIMES = tuple(range(100, BIAS_EPISODES + 1, 100))
"""Numbers of episodes after which the bias is measured."""
SHOWN = {"active": (100, 500, 2000), MATURED: (500, 2000)}
"""Those of `TIMES` that are in the table, by updater."""

Numbers = dict[str, Any]


def delays_of(law: bl.delays.Law, episodes: Sequence[Episode], world: bl.MDP, seed: int) -> Ints:
    """Return the delay under `law` of each of the `episodes` 1, 2, ... of a run in `world`."""
    choices = np.array([group.draw(seed=seed, episodes=len(episodes)) for group in law.groups])
    selector = law.selector(world.shape)
    groups = [group_of(selector, episode, world.shape) for episode in episodes]
    return choices[groups, np.arange(len(episodes))]


def estimated_value(world: bl.MDP, policy: Ints, episodes: Sequence[Episode]) -> float:
    """Return the value of `policy` in the model that is estimated from `episodes`.

    For each step, state and action, mean reward and transition probabilities are the averages over
    `episodes`, without any bonus. Where there is no visit, they are the true ones, so that a lack
    of data is not counted as bias. No state may be terminal.
    """
    H, S, A = world.shape.table
    states = np.array([episode.states for episode in episodes], np.int64).reshape(-1, H + 1)
    actions = np.array([episode.actions for episode in episodes], np.int64).reshape(-1, H)
    paid = np.array([episode.rewards for episode in episodes], float).reshape(-1, H)
    p, r = true_model(world)
    value = np.zeros(S)
    for h in reversed(range(H)):
        pair = states[:, h] * A + actions[:, h]
        visits = np.bincount(pair, minlength=S * A)
        moves = np.bincount(pair * S + states[:, h + 1], minlength=S * A * S).reshape(-1, S)
        sums = np.bincount(pair, paid[:, h], minlength=S * A) + moves @ value
        q = np.where(visits > 0, sums / np.maximum(visits, 1), r + p @ value)
        value = q.reshape(S, A)[np.arange(S), policy[h]]
    return float(world.start @ value)


def true_model(world: bl.MDP) -> tuple[Floats, Floats]:
    """Return the transition probabilities, (S A, S), and the mean rewards, (S A), of `world`."""
    S, A = world.shape.states, world.shape.actions
    p = np.zeros((S * A, S))
    for row in range(S * A):
        entries = slice(world.ptr[row], world.ptr[row + 1])
        p[row, world.succ[entries]] = np.diff(world.cum[entries], prepend=0)
    return p, world.rewards.reshape(-1)


def bias_curve(world_name: str, base: str, updater: str, delay: str, seed: int) -> Floats:
    """Return the bias of one run at `TIMES`, as a share of V*.

    It is the estimated value of the policy of the next episode, from the feedback counted so far,
    minus its true value.
    """
    world, law = bl.world(world_name), bl.delays.parse(delay)
    run = bl.simulate(
        world,
        base=base,
        updater=updater,
        delay=delay,
        episodes=BIAS_EPISODES + 1,
        rewards="unknown",
        seed=seed,
        trace=True,
    )
    assert run.policies is not None
    policies = run.policies
    played = [
        play(world, Policy(policies[k - 1]), seed=seed, episode=k)
        for k in range(1, BIAS_EPISODES + 1)
    ]
    age = getattr(UPDATER_NAMES.parse(updater), "age", 1)
    counted_at = np.arange(1, BIAS_EPISODES + 1) + np.maximum(
        np.minimum(delays_of(law, played, world, seed), 2 * BIAS_EPISODES), age - 1
    )
    curve = []
    for time in TIMES:
        counted = [played[i] for i in np.flatnonzero(counted_at[:time] <= time)]
        policy = policies[time]
        truth = bl.policy_value(world, Policy(policy))
        curve.append(estimated_value(world, policy, counted) - truth)
    return np.array(curve) / bl.optimal_value(world)


def measure_bias(seed: int) -> list[Numbers]:
    """Return the bias of each learner under each law, with the updaters of `SHOWN`, for `seed`."""
    return [
        {"world": world, "base": label, "delay": delay, "updater": updater, "seed": seed}
        | {"bias": [round(x, 4) for x in bias_curve(world, base, updater, delay, seed).tolist()]}
        for world in MATCHED
        for label, base in LEARNERS.items()
        for delay in (*LAWS, CONTROL)
        for updater in SHOWN
    ]


def extract_regrets(results: Results) -> list[Numbers]:
    """Return the final regret and the number of plans of each run, by setting."""
    found = results.sql(
        "SELECT world, base, updater, delay, list(total_regret ORDER BY seed) AS regrets, "
        "avg(epochs) AS plans FROM runs GROUP BY ALL ORDER BY ALL"
    )
    return [
        {
            "world": str(world),
            "base": str(base).removesuffix("-unknown-rewards"),
            "updater": str(updater),
            "delay": str(delay),
            "plans": round(float(plans), 1),
            "regrets": [float(f"{x:.5g}") for x in regrets],
        }
        for world, base, updater, delay, regrets, plans in zip(*found.values(), strict=True)
    ]


def read_stored() -> Numbers:
    """Return the stored numbers; empty if there are none."""
    stored: Numbers = json.loads(DATA.read_text()) if DATA.exists() else {}
    return stored


def write_stored(numbers: Numbers) -> None:
    """Store `numbers`: digests of studies as text, and lists with one line for each setting."""
    parts = []
    for name, value in sorted(numbers.items()):
        lines = json.dumps(value)
        if isinstance(value, list):
            lines = "[\n" + ",\n".join(json.dumps(row) for row in value) + "\n]"
        parts.append(f'"{name}": {lines}')
    DATA.parent.mkdir(exist_ok=True)
    DATA.write_text("{\n" + ",\n".join(parts) + "\n}\n")


def half_width(values: Floats) -> Floats:
    """Return half the width of Student's 95 % confidence interval of means over the first axis."""
    number = len(values)
    quantile = float(special.stdtrit(number - 1, 0.975))
    return np.asarray(quantile * np.std(values, axis=0, ddof=1) / number**0.5)


def interval(values: Sequence[float] | Floats, digits: int = 0, unit: float = 1) -> str:
    """Return the mean of `values` times `unit` with half its 95 % confidence interval, as text."""
    numbers = np.asarray(values) * unit
    mean = round(float(numbers.mean()), digits) + 0.0  # no negative zero
    return f"{mean:,.{digits}f} ± {half_width(numbers):,.{digits}f}"


def bias_table() -> Iterator[str]:
    """Yield the lines of the table of biases, in percent of V*."""
    columns = [(updater, time) for updater, times in SHOWN.items() for time in times]
    titles = [f"{updater.partition(':')[0].title()}, {time:,}" for updater, time in columns]
    yield f"| World | Law | Learner | {' | '.join(titles)} |"
    yield "| --- | --- | --- |" + " ---: |" * len(columns)
    of = bias_by_setting()
    for world in MATCHED:
        for delay, name in {**LAWS, CONTROL: "independent: all late"}.items():
            for base in LEARNERS:
                cells = (
                    interval(of[world, delay, base, updater][:, TIMES.index(time)], 1, 100)
                    for updater, time in columns
                )
                yield f"| {world} | {name} | {base} | {' | '.join(cells)} |"


def bias_by_setting() -> dict[tuple[str, str, str, str], Floats]:
    """Return the stored biases, (seeds, times), by world, delay, base and updater."""
    found: dict[tuple[str, str, str, str], list[list[float]]] = {}
    for row in read_stored()["bias"]:
        setting = (row["world"], row["delay"], row["base"], row["updater"])
        found.setdefault(setting, []).append(row["bias"])
    return {setting: np.array(curves) for setting, curves in found.items()}


def regrets_by_setting() -> dict[tuple[str, str, str, str], Floats]:
    """Return the stored regrets by world, base, delay and updater."""
    rows = [row for study in STUDIES for row in read_stored()[f"{study} regrets"]]
    return {(r["world"], r["base"], r["delay"], r["updater"]): np.array(r["regrets"]) for r in rows}


def regret_table() -> Iterator[str]:
    """Yield the lines of the table of regrets under dependent and under matched laws."""
    yield (
        "| World | Law | Learner | Active | Active, independent law | Difference | Matured "
        "| Matured − active |"
    )
    yield "| --- | --- | --- |" + " ---: |" * 5
    of = regrets_by_setting()
    for world, base, delay, name, matched in compared():
        active, matured = (of[world, base, delay, u] for u in ("active", MATURED))
        compare = ["", ""]
        if matched:
            independent = of[world, base, matched, "active"]
            compare = [interval(independent), interval(active - independent)]
        cells = [interval(active), *compare, interval(matured), interval(matured - active)]
        yield f"| {world} | {name} | {base} | {' | '.join(cells)} |"


def compared() -> Iterator[tuple[str, str, str, str, str]]:
    """Yield world, learner, dependent law, its description and its independent law."""
    for world, laws in MATCHED.items():
        for (delay, name), matched in zip(LAWS.items(), laws, strict=True):
            for base in LEARNERS:
                yield world, base, delay, name, matched
    for delay, (name, matched) in ICU_LAWS.items():
        yield ICU, "ucrl2", delay, name, matched


def cost_table() -> Iterator[str]:
    """Yield the lines of the table of the regrets of all updaters under independent laws."""
    names = ("active", "lazy, α = 10", "batched, doubling", "scheduled, every 50", "matured, 101")
    yield f"| World | Delay | Learner | {' | '.join(names)} |"
    yield "| --- | --- | --- |" + " ---: |" * len(UPDATERS)
    of = regrets_by_setting()
    for world in (*MATCHED, ICU):
        for delay in INDEPENDENT:
            for base in LEARNERS if world in MATCHED else ("ucrl2",):
                cells = (interval(of[world, base, delay, updater]) for updater in UPDATERS)
                yield f"| {world} | {delay} | {base} | {' | '.join(cells)} |"
