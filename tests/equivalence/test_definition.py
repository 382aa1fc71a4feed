"""Runs against the definition: plain NumPy that recomputes everything from paths and delays."""

import ast
import dataclasses
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.learner.bases import EpsilonGreedy, Fixed, Optimal, UniformRandom
from combinations import chosen
from equivalence.definition import Setting, differences, philox
from worlds import random_world

EPISODES = 24
LAW = bl.delays.never(0.1, otherwise=bl.delays.geometric(3))

BASES: dict[str, Any] = {
    "ubev": bl.UBEV(scale=0.1),
    "ucbvi-ch": bl.UCBVI_CH(scale=0.01),
    "ucbvi-bf": bl.UCBVI_BF(scale=0.03),
    "ucbvi-bf two terms, ties": bl.UCBVI_BF(preset="two_term", scale=0.03, ties="random"),
    "ucrl2": bl.UCRL2(scale=0.1),
    "ucrl2 bonus, monotone": bl.UCRL2(scale=0.1, form="bonus", monotone=True),
    "ucrl2b": bl.UCRL2B(scale=0.03),
    "ucrl2b bonus": bl.UCRL2B(scale=0.03, form="bonus"),
    "kl-ucrl": bl.KL_UCRL(scale=0.1),
    "kl-ucrl bonus": bl.KL_UCRL(scale=0.1, form="bonus"),
    "chi2-ucrl": bl.Chi2_UCRL(scale=0.01),
    "chi2-ucrl bonus": bl.Chi2_UCRL(scale=0.01, form="bonus"),
    "psrl": bl.PSRL(),
    "psrl each update": bl.PSRL(prior=0.3, resample="update", ties="random"),
    "rlsvi": bl.RLSVI(scale=0.1),
    "rlsvi clipped, each update": bl.RLSVI(0.2, clip=True, resample="update", ties="random"),
    "q-learning": bl.QLearning(scale=0.05),
    "q-learning bernstein": bl.QLearning(scale=0.05, bonus="bernstein", range="H-h+1"),
    "epsilon-greedy": EpsilonGreedy(epsilon=0.3, ties="random"),
    "random": UniformRandom(),
    "optimal": Optimal(),
    "fixed": Fixed(actions=[[1, 0, 1], [0, 1, 1], [1, 1, 0]]),
}
UPDATERS: dict[str, Any] = {
    "active": bl.Active(),
    "lazy": bl.Lazy(1.5),
    "lazy auto": bl.Lazy("auto"),
    "explicit": bl.ExplicitExploration(threshold=5),
    "multi": bl.MultiInstance(),
}
COHORTS: dict[str, Any] = {
    "batched": bl.Batched(),
    "batched minimax": bl.Batched("minimax"),
    "batched by a given grid": bl.Batched([2, 3, 7]),
    "scheduled by episodes": bl.Scheduled(4),
    "scheduled by arrivals": bl.Scheduled(5, unit="arrivals"),
    "matured active": bl.Matured(bl.Active(), age=5),
    "matured lazy": bl.Matured(bl.Lazy(1.5), age=3),
    "matured lazy auto": bl.Matured(bl.Lazy("auto"), age=4),
    "matured explicit": bl.Matured(bl.ExplicitExploration(c=0.05), age=4),
    "matured batched": bl.Matured(bl.Batched(), age=3),
    "matured scheduled": bl.Matured(bl.Scheduled(3), age=6),
}
"""Updaters that depend on when episodes were started."""

COHORT_BASES = ("ucbvi-bf", "ucrl2", "psrl each update", "q-learning", "epsilon-greedy")

MODES: list[dict[str, Any]] = [
    {"rewards": rewards, "late": late, "delay_per": per, "stages": stages}
    for rewards, late in (("known", "everything"), (None, "everything"), (None, "rewards"))
    for per in ("episode", "step")
    for stages in ("each", "pooled")
]
EVERY_PAIR = [
    pytest.param(i, j, id=f"{base}-{updater}")
    for i, base in enumerate(BASES)
    for j, updater in enumerate(UPDATERS)
]
"""Positions of every base and every updater."""

OPTIONS: dict[str, Any] = {
    "ubev span": bl.UBEV(scale=0.1, range="span", monotone=True),
    "ucbvi-ch H-h": bl.UCBVI_CH(scale=0.01, range="H-h", ties="random"),
    "ucbvi-bf no_third": bl.UCBVI_BF(scale=0.03, preset="no_third", delta=0.2),
    "ucbvi-bf emp_bernstein": bl.UCBVI_BF(scale=0.03, preset="emp_bernstein"),
    "ucbvi-bf simplified": bl.UCBVI_BF(scale=0.1, preset="simplified_bernstein"),
    "ucrl2 common": bl.UCRL2(scale=0.1, radius="common"),
    "ucrl2 jaksch": bl.UCRL2(scale=0.05, radius="jaksch"),
    "ucrl2 paper": bl.UCRL2(scale=0.1, radius="paper"),
    "kl-ucrl filippi": bl.KL_UCRL(scale=0.03, radius="filippi"),
    "chi2-ucrl practical": bl.Chi2_UCRL(scale=0.05, radius="practical"),
    "psrl each episode": bl.PSRL(resample="episode", prior=1.0),
    "rlsvi each episode, K": bl.RLSVI(scale=0.1, k="K", resample="episode"),
    "literal constants": bl.UCBVI_BF(),
}
EXPLORATION: dict[str, Any] = {
    "by realised delay": bl.ExplicitExploration(c=0.1),
    "by given delay": bl.ExplicitExploration(tau_max=2, log="SHA", c=0.3, pooled=False),
    "without log": bl.ExplicitExploration(tau_max=4, log="none"),
    "by state": bl.ExplicitExploration(threshold=4, unit="sh", pooled=False),
    "by state, pooled": bl.ExplicitExploration(c=0.1, unit="sh", delta=0.3),
    "rare actions, pooled": bl.ExplicitExploration(c=0.1, draw="rare", log="SHA", delta=0.3),
    "rare actions": bl.ExplicitExploration(threshold=3, draw="rare", pooled=False),
}


def a_world(seed: int, *, states: int = 3, actions: int = 2, horizon: int = 3) -> bl.MDP:
    rng = np.random.default_rng(seed)
    sizes = {"states": states, "actions": actions, "horizon": horizon}
    draws: Any = ("bernoulli", "beta", "deterministic")[seed % 3]
    world = random_world(rng, **sizes, homogeneous=seed % 4 == 3)
    return dataclasses.replace(world, reward_draws=draws)


def check(setting: Setting, **given: Any) -> Any:
    """Simulate the setting, compare the run with the definition, and return the run."""
    arguments = {field.name: getattr(setting, field.name) for field in dataclasses.fields(setting)}
    del arguments["rule"]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Running the slower reference loop")
        run = bl.simulate(**arguments, **given, every=1, trace=True)
    assert differences(setting, run) == [], setting
    delta = setting.base.delta
    assert run.psi == bl.theory.psi(run.mean_delay, setting.episodes, delta)
    return run


def modes(i: int, j: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the numbered modes in which base `i` is tested under updater `j`.

    They have all combinations of `delay_per` and `stages`, and all values of the other options.
    All modes are tested of each base, and of each updater.
    """
    stepwise = list(BASES.values())[i].stepwise
    for number, mode in enumerate(MODES):
        if chosen(i, j, number, one_in=3) and not (stepwise and mode["stages"] == "pooled"):
            yield number, mode


@pytest.mark.parametrize(("i", "j"), EVERY_PAIR)
def test_every_base_under_every_updater_does_what_is_defined(i: int, j: int) -> None:
    base, updater = list(BASES.values())[i], list(UPDATERS.values())[j]
    for seed, mode in modes(i, j):
        check(Setting(a_world(seed), base, updater, LAW, EPISODES, seed, **mode))


@pytest.mark.parametrize("updater", COHORTS.values(), ids=COHORTS.keys())
def test_batches_schedules_and_ages_are_what_is_defined(updater: Any) -> None:
    law = bl.delays.geometric(3) if "Explicit" in repr(updater) else LAW
    for i, base in enumerate(COHORT_BASES):
        for number, mode in enumerate(MODES):
            if chosen(i, number, one_in=4) and (mode["stages"] == "each" or base != "q-learning"):
                world = a_world(number)
                check(Setting(world, BASES[base], updater, law, EPISODES, number, **mode))


def test_every_mode_is_tested_of_each_base_and_of_each_updater() -> None:
    tested = [
        (i, j, number)
        for i, j in np.ndindex(len(BASES), len(UPDATERS))
        for number, _ in modes(i, j)
    ]
    each = {number for number, mode in enumerate(MODES) if mode["stages"] == "each"}
    for i, base in enumerate(BASES.values()):
        expected = each if base.stepwise else set(range(len(MODES)))
        assert {number for one, _, number in tested if one == i} == expected
    for j in range(len(UPDATERS)):
        assert {number for _, one, number in tested if one == j} == set(range(len(MODES)))


@pytest.mark.parametrize("base", OPTIONS.values(), ids=OPTIONS.keys())
def test_every_option_of_a_base_does_what_is_defined(base: Any) -> None:
    for seed, mode in enumerate(MODES[::3]):
        for updater in (bl.Active(), bl.Lazy(1)):
            check(Setting(a_world(seed), base, updater, LAW, EPISODES, seed, **mode))


@pytest.mark.parametrize("updater", EXPLORATION.values(), ids=EXPLORATION.keys())
def test_every_rule_of_exploration_does_what_is_defined(updater: Any) -> None:
    law = bl.delays.uniform(3)
    for seed, mode in enumerate(MODES[::3]):
        run = check(Setting(a_world(seed), BASES["ucrl2"], updater, law, EPISODES, seed, **mode))
        assert run.last_explored > 0


@pytest.mark.parametrize("bonus", ["hoeffding", "paper", "jaksch", "filippi", "bernstein", "ubev"])
def test_every_reward_bonus_is_what_is_defined(bonus: str) -> None:
    for seed, mode in enumerate(MODES[4:]):
        base = bl.UCRL2(scale=0.05)
        setting = Setting(a_world(seed), base, bl.Active(), LAW, EPISODES, seed, **mode)
        check(dataclasses.replace(setting, reward_bonus=bonus))


@pytest.mark.parametrize(
    "sizes", [(1, 2, 2), (4, 3, 4), (4, 1, 2), (3, 2, 1)], ids=lambda sizes: f"S,A,H = {sizes}"
)
def test_other_sizes_and_longer_runs_do_what_is_defined(sizes: tuple[int, int, int]) -> None:
    S, A, H = sizes
    for seed, name in enumerate(("ucrl2", "kl-ucrl", "chi2-ucrl", "ucbvi-bf", "psrl")):
        world = a_world(seed, states=S, actions=A, horizon=H)
        check(Setting(world, BASES[name], bl.Lazy(3), bl.delays.poisson(2), 60, seed, rewards=None))


@pytest.mark.parametrize("late", ["everything", "rewards"])
def test_alpha_is_chosen_anew_for_every_epoch(late: str) -> None:
    """In a world so small that the best alpha is finite."""
    world, law = a_world(1, states=2, actions=2, horizon=2), bl.delays.geometric(2)
    setting = Setting(world, bl.UCRL2(scale=0.9), bl.Lazy("auto"), law, 150, rewards=None)
    run = check(dataclasses.replace(setting, late=late))
    assert np.isfinite(run.alpha).all()
    assert len(set(run.alpha)) > 5


@pytest.mark.parametrize("engine", ["reference", "compiled"])
@pytest.mark.parametrize("planning", ["full", "incremental"])
def test_every_way_to_run_does_what_is_defined(engine: str, planning: str) -> None:
    for base in ("ucrl2", "ucbvi-bf two terms, ties", "q-learning", "psrl each update"):
        for mode in (MODES[0], MODES[6], MODES[8]):
            setting = Setting(a_world(2), BASES[base], bl.Lazy(2), LAW, EPISODES, **mode)
            check(setting, engine=engine, planning=planning)


# The comparison can fail

MISTAKES: dict[str, tuple[str, Any]] = {
    "another trigger": ("policies", {"updater": bl.Lazy(3)}),
    "another bonus": ("policies", {"base": bl.UBEV(scale=0.13)}),
    "another tie": ("ties", {"base": bl.UBEV(scale=0.1, ties="random"), "seed": 3}),
    "another law": ("missing", {"delay": bl.delays.geometric(4)}),
    "known rewards": ("policies", {"rewards": "known", "late": "everything"}),
    "late transitions": ("policies", {"late": "everything"}),
    "whole episodes": ("mean_delay", {"delay_per": "episode"}),
    "pooled counts": ("in_flight", {"stages": "pooled"}),
    "another estimate of rewards": ("policies", {"reward_bonus": "jaksch"}),
    "exploration": ("marks", {"updater": bl.ExplicitExploration(threshold=2)}),
    "copies": ("instances", {"updater": bl.MultiInstance()}),
    "batches": ("policies", {"updater": bl.Batched()}),
    "a schedule": ("policies", {"updater": bl.Scheduled(4)}),
    "an age": ("missing", {"updater": bl.Matured(bl.Lazy(1.5), age=9)}),
}


@pytest.mark.parametrize(("part", "changed"), MISTAKES.values(), ids=MISTAKES.keys())
def test_the_definition_differs_from_a_run_of_another_setting(part: str, changed: Any) -> None:
    base = bl.UBEV(scale=0.1)
    found: set[str] = set()
    for seed in range(3):
        setting = Setting(
            a_world(seed),
            base,
            bl.Lazy(1.5),
            LAW,
            60,
            seed,
            rewards=None,
            late="rewards",
            delay_per="step",
        )
        run = check(setting)
        found.update(differences(dataclasses.replace(setting, **changed), run))
    assert part in found


@pytest.mark.parametrize("updater", [bl.Active(), bl.Lazy(1.5)], ids=["active", "lazy"])
def test_the_definition_notices_feedback_that_is_counted_one_episode_too_early(
    updater: Any,
) -> None:
    class LaterLaw:
        def draw(self, **given: Any) -> Any:
            return LAW.draw(**given) + 1

    found: set[str] = set()
    for seed in range(4):
        setting = Setting(a_world(seed), bl.UCRL2(scale=0.3), updater, LAW, 60, seed)
        found.update(differences(dataclasses.replace(setting, delay=LaterLaw()), check(setting)))
    assert {"policies", "missing", "max_missing", "in_flight"} <= found


def test_the_definition_notices_regret_that_is_off_in_the_ninth_digit() -> None:
    setting = Setting(a_world(1), bl.UCRL2(scale=0.3), bl.Active(), LAW, EPISODES)
    run = check(setting)
    assert differences(setting, dataclasses.replace(run, regret=run.regret + 3e-9)) == ["regret"]


# Independence


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ((0,) * 4, (0,) * 2, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((2**32 - 1,) * 4, (2**32 - 1,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_the_generator_gives_the_known_answers_of_random123(
    counter: tuple[int, ...], key: tuple[int, ...], words: tuple[int, ...]
) -> None:
    assert tuple(int(word) for word in philox(counter, key)) == words


def test_the_definition_imports_nothing_but_the_public_package() -> None:
    tree = ast.parse((Path(__file__).parent / "definition.py").read_text())
    imported = {
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module]
            if isinstance(node, ast.ImportFrom)
            else [alias.name for alias in node.names]
        )
    }
    assert imported == {
        "belated",
        "dataclasses",
        "functools",
        "itertools",
        "math",
        "numpy",
        "numpy.typing",
        "typing",
    }
    used = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "bl"
    }
    assert used == {"MDP", "theory"}
