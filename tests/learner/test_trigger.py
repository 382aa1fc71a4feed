"""Triggers of users: compiled and as Python they plan in the same episodes."""

import copy
import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.checks import check_updater
from belated.compiled import JIT
from combinations import spread
from random_problems import puzzling_world
from ways import all_agree, difference, every_way

EPISODES = 150 if JIT else 15


@bl.trigger
def every_fifth(arrival):
    return arrival.since_plan >= 5


@bl.trigger
def grown_or_old(constants, arrival):
    if arrival.age >= constants[0] and arrival.arrived > 1:
        return True
    for row in arrival.rows:
        if arrival.counts[row] > constants[1] * arrival.epoch_counts[row]:
            return True
    return False


@bl.trigger
def parity_of_everything(arrival):
    """Read every number of the arrival, so that any difference changes the decision."""
    total = arrival.arrived + 3 * arrival.since_plan + 5 * arrival.age
    for i in range(arrival.rows.size):
        total += (i + 1) * arrival.rows[i]
    for row in range(arrival.counts.size):
        total += row * (arrival.counts[row] + 2 * arrival.epoch_counts[row])
    return total % 3 == 0 and arrival.alpha > 1e300


UPDATERS = {
    "every fifth": bl.Triggered(every_fifth),
    "grown or old": bl.Triggered(grown_or_old, constants=[20, 2]),
    "everything": bl.Triggered(parity_of_everything),
}
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "pooled": {"stages": "pooled"},
    "steps": {"delay_per": "step"},
    "unknown": {"rewards": "unknown"},
    "late rewards": {"rewards": "unknown", "late": "rewards"},
    "late rewards by step": {"rewards": "unknown", "late": "rewards", "delay_per": "step"},
    "stepwise": {"base": bl.QLearning(scale=0.02)},
    "plans every episode": {"base": bl.PSRL(resample="episode")},
}


@dataclass(frozen=True)
class Every(bl.Updater):
    """Updater with a trigger and an option of its own."""

    arrivals: int = 5

    name = "every"

    def __post_init__(self):
        if not self.arrivals >= 1:
            raise ValueError(f"arrivals must be at least 1, got {self.arrivals}.")

    def trigger_rule(self):
        return bl.TriggerRule(at_least, [self.arrivals])


@bl.trigger
def at_least(constants, arrival):
    return arrival.since_plan >= constants[0]


class EveryInPython(bl.Updater):
    name = "every"

    def due(self, arrival):
        return arrival.since_plan >= 5


def simulate(updater: bl.Updater, **options: Any) -> bl.Run:
    given = {"base": bl.UCRL2(scale=0.1), "delay": bl.delays.geometric(7), "trace": True}
    return bl.simulate(
        bl.chain(5), updater=updater, episodes=EPISODES, every=1, **{**given, **options}
    )


@pytest.mark.plain
@pytest.mark.parametrize(("updater", "options"), spread(UPDATERS, OPTIONS, one_in=3))
def test_a_trigger_plans_in_the_same_episodes_in_both_engines(
    updater: bl.Updater, options: dict[str, Any]
) -> None:
    given = {"base": bl.UCRL2(scale=0.1), "delay": bl.delays.geometric(7), **options}
    runs = every_way(bl.chain(5), updater=updater, episodes=EPISODES, seed=3, **given)
    assert all_agree(runs)


def test_a_trigger_and_the_same_rule_as_a_method_give_the_same_run() -> None:
    python = simulate(EveryInPython(), engine="reference")
    for updater in (bl.Triggered(every_fifth), bl.Triggered(at_least, [5]), Every()):
        assert difference(simulate(updater, engine="compiled"), python) is None
    assert simulate(Every(10)).updates < python.updates


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_age_is_the_number_of_episodes_since_the_last_plan(engine: Any) -> None:
    world = puzzling_world(np.random.default_rng(1))

    def run(rule: Any, constants: Any, delay: int) -> bl.Run:
        return bl.simulate(
            world,
            base=bl.UCRL2(scale=0.1),
            updater=bl.Triggered(rule, constants),
            delay=bl.delays.constant(delay),
            episodes=30,
            engine=engine,
        )

    # feedback arrives before each of the episodes 5, 6, ..., 30, when 4, 5, ..., 29 have started
    assert run(older, [0], delay=3).updates == 26
    assert run(older, [10], delay=3).updates == 2  # before the episodes 11 and 21
    assert run(older, [30], delay=3).updates == 0


@bl.trigger
def older(constants, arrival):
    return arrival.age >= constants[0]


def test_a_restored_learner_knows_the_age_of_its_plan() -> None:
    updater = bl.Triggered(older, [3])
    learner = bl.Learner(
        bl.Shape(2, 2, 1),
        base=bl.UCRL2(),
        updater=updater,
        rewards=[[0, 0], [0, 1]],
        episodes=10,
    )
    plans = []
    for number in range(1, 9):
        learner = bl.Learner.restore(learner.snapshot(), updater=updater)
        learner.start(number)
        learner.observe([bl.Episode(number, states=[0, 1], actions=[0])])
        plans.append(learner.updates)
    assert plans == [0, 0, 1, 1, 1, 2, 2, 2]


def test_check_updater_accepts_triggers() -> None:
    for updater in (UPDATERS["every fifth"], UPDATERS["grown or old"], Every()):
        check_updater(updater)


@bl.trigger
def wordy(arrival):
    return "much" + arrival.age


@pytest.mark.skipif(not JIT, reason="nothing is compiled")
def test_a_trigger_that_fails_in_its_rehearsal_raises_an_error_with_its_line() -> None:
    source, first = inspect.getsourcelines(wordy.function)
    line = first + source.index('    return "much" + arrival.age\n')
    message = rf"^The trigger wordy fails: TypeError: .* \(test_trigger\.py, line {line}\)\.$"
    with pytest.raises(TypeError, match=message):
        simulate(bl.Triggered(wordy))


@pytest.mark.skipif(not JIT, reason="nothing is compiled")
def test_a_plain_function_runs_in_the_reference_loop_with_a_warning() -> None:
    def plain(arrival):
        return arrival.since_plan >= 5

    updater = bl.Triggered(plain)
    reason = r"the trigger plain is a plain Python function \(see bl\.trigger\)"
    with pytest.warns(UserWarning, match=reason):
        run = simulate(updater)
    assert difference(run, simulate(bl.Triggered(every_fifth))) is None
    with pytest.raises(ValueError, match=reason):
        simulate(updater, engine="compiled")


def test_a_subclass_that_overrides_one_form_of_the_rule_does_not_inherit_the_other() -> None:
    class Never(Every):
        def due(self, arrival):
            return False

    class FifthLazy(bl.Lazy):
        def trigger_rule(self):
            return bl.TriggerRule(every_fifth)

    assert simulate(Never(), engine="reference").updates == 0
    assert Never().trigger_rule() is None
    assert FifthLazy(10).lazy_alpha() is None
    fifth = simulate(FifthLazy(10), engine="compiled")
    assert difference(fifth, simulate(bl.Triggered(every_fifth))) is None


def test_a_trigger_is_named_after_its_function_and_can_be_copied() -> None:
    updater = bl.Triggered(grown_or_old, constants=[20, 2])
    simulate(updater)
    assert updater.name == "grown_or_old"
    assert repr(updater) == "Triggered(trigger=grown_or_old, constants=(20.0, 2.0))"
    assert copy.deepcopy(updater) == updater


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: bl.trigger(lambda a, b, c: True),
            r"^A trigger must take \(arrival\) or \(constants, arrival\), but <lambda> takes 3 ",
        ),
        (lambda: bl.Triggered("lazy"), r"^trigger must be a function .*, got 'lazy'\.$"),
        (lambda: bl.Triggered(every_fifth, 5), r"^constants must be a sequence .*, got 5\.$"),
        (lambda: bl.Triggered(every_fifth, ["5"]), r"^constants must be a number, got '5'\.$"),
        (lambda: bl.Updater().due(None), r"^Updater needs a method due\(arrival\) or trigger_rule"),
    ],
)
def test_invalid_triggers_are_rejected(make: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        make()
