"""Delays that depend on the played episode: every way gives the same bits, as defined."""

import dataclasses
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import belated as bl
from belated.compiled import JIT
from belated.delays import by_action, by_return, by_state, parse, weekly
from equivalence.definition import Setting, differences
from equivalence.test_definition import MODES, a_world, check
from equivalence.test_engines import restricted_worlds
from ways import all_agree, difference, every_way
from worlds import laws, with_restrictions

BASES: dict[str, Any] = {
    "ucrl2": bl.UCRL2(scale=0.1),
    "psrl": bl.PSRL(),
    "q-learning": bl.QLearning(scale=0.05),
}
UPDATERS = {
    "active": bl.Active(),
    "lazy": bl.Lazy(1.5),
    "explicit": bl.ExplicitExploration(threshold=5),
}
SHORT, LONG = parse("constant:1"), parse("geometric:6")
LOST = parse("never:0.7:poisson:3")
EPISODES = 40 if JIT else 8
EXAMPLES = 6 if JIT else 1


@st.composite
def dependent_laws(draw: st.DrawFn, shape: bl.Shape) -> Any:
    """Laws by action, state or return that fit `shape`, some of them in weekly batches."""
    H, S, A = shape.table
    kind = draw(st.sampled_from(["action", "state", "return"]))
    if kind == "return":
        edges = sorted(draw(st.sets(st.sampled_from([0.25, 0.5, 1.0, 1.5, 2.5]), max_size=3)))
        law = by_return(edges, [draw(laws()) for _ in range(len(edges) + 1)])
    else:
        count, steps = (A, H - 1) if kind == "action" else (S, H)
        chosen = {key: draw(laws()) for key in range(count) if draw(st.booleans())}
        chosen["else"] = draw(laws())
        step = draw(st.integers(0, steps))
        law = by_action(chosen, step=step) if kind == "action" else by_state(step, chosen)
    return weekly(law, 2, week=3) if draw(st.booleans()) else law


@pytest.mark.plain
@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
@settings(max_examples=EXAMPLES, deadline=None)
@given(data=st.data(), world=restricted_worlds(), seed=st.integers(0, 99))
def test_every_way_to_run_gives_the_same_bits(
    base: Any, data: st.DataObject, world: bl.MDP, seed: int
) -> None:
    mode = data.draw(st.sampled_from([m for m in MODES if m["stages"] == "each"]))
    runs = every_way(
        world,
        base=base,
        updater=data.draw(st.sampled_from(list(UPDATERS.values()))),
        delay=data.draw(dependent_laws(world.shape)),
        episodes=EPISODES,
        seed=seed,
        **mode,
    )
    assert all_agree(runs)


# Recounted from the paths alone


def by_second_action(states: Any, actions: Any, rewards: Any) -> Any:
    return LONG if actions.size < 2 else [SHORT, LOST][actions[1]]


def by_last_state(states: Any, actions: Any, rewards: Any) -> Any:
    return LOST if states[-1] == 2 else LONG


def by_sum_of_rewards(states: Any, actions: Any, rewards: Any) -> Any:
    total = sum(rewards.tolist())
    return SHORT if total < 0.5 else LONG if total < 1.25 else LOST


RULES: dict[str, tuple[Any, Callable[..., Any]]] = {
    "action": (by_action({0: SHORT, 1: LOST, "else": LONG}, step=1), by_second_action),
    "state": (by_state(3, {2: LOST, "else": LONG}), by_last_state),
    "return": (by_return([0.5, 1.25], [SHORT, LONG, LOST]), by_sum_of_rewards),
}


@pytest.mark.parametrize(("law", "rule"), RULES.values(), ids=RULES)
def test_delays_recounted_from_the_paths_give_the_run(law: Any, rule: Any) -> None:
    for seed, mode in enumerate(MODES):
        world = a_world(seed)
        if seed % 2:
            world = with_restrictions(world, np.random.default_rng(seed))
        base = list(BASES.values())[seed % 2]
        updater = list(UPDATERS.values())[seed % 3]
        check(Setting(world, base, updater, law, 24, seed, **mode, rule=rule))


@pytest.mark.parametrize(("law", "rule"), RULES.values(), ids=RULES)
def test_the_recount_differs_from_a_run_with_another_dependence(law: Any, rule: Any) -> None:
    found: set[str] = set()
    for seed in range(3):
        setting = Setting(a_world(seed), BASES["ucrl2"], bl.Active(), law, 40, seed, rule=rule)
        others = [other for _, other in RULES.values() if other is not rule]
        wrong = dataclasses.replace(setting, rule=others[seed % 2])
        found.update(differences(wrong, check(setting)))
    assert {"policies", "missing"} & found


def test_multi_instance_runs_in_the_reference_loop_as_defined() -> None:
    law, rule = RULES["return"]
    setting = Setting(a_world(1), BASES["ucrl2"], bl.MultiInstance(), law, 24, 1, rule=rule)
    assert check(setting).instances > 1
    given = {"base": "ucrl2", "updater": "multi", "delay": law, "episodes": 10}
    with pytest.warns(UserWarning, match="MultiInstance needs delays that do not depend on the"):
        bl.simulate("chain-3", **given)
    with pytest.raises(ValueError, match="engine='compiled' is not possible: MultiInstance"):
        bl.simulate("chain-3", **given, engine="compiled")


def test_explicit_exploration_plans_for_the_longest_possible_delay() -> None:
    law = by_action({0: "constant:2", 1: "constant:7"})
    given: dict[str, Any] = {"base": "ucrl2:scale=0.1", "delay": law, "episodes": 60, "every": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        runs = [
            bl.simulate("chain-3", **given, updater=updater)
            for updater in ("explicit:c=0.2", "explicit:c=0.2,tau_max=7")
        ]
    assert difference(*runs) is None
