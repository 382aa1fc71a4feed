"""Plain Python, compiled code, and a change from one to the other give the same bits."""

import random

import numpy as np
import pytest

import belated as bl
from belated.compiled import JIT, budget
from belated.simulation.run import Run
from processes import Program
from ways import difference

pytestmark = pytest.mark.skipif(not JIT, reason="nothing is compiled")

BASES = (
    "ucbvi-ch:scale=0.1",
    "ucbvi-bf:scale=0.1",
    "epsilon-greedy",
    "ucrl2:scale=0.03",
    "ucrl2b:scale=0.1",
    "kl-ucrl:scale=0.1",
    "chi2-ucrl:scale=0.1",
    "ubev:scale=0.1",
    "psrl",
    "rlsvi:scale=0.1",
    "q-learning:scale=0.1",
)
MUCH = 10**9


@pytest.mark.parametrize("seed", range(22))
def test_a_run_is_the_same_plain_compiled_and_switched(seed: int) -> None:
    draw = random.Random(seed)
    base = BASES[seed % len(BASES)]
    setting = {
        "base": base,
        "updater": draw.choice(["active", "lazy:10", "lazy:auto", "lazy:1"]),
        "delay": draw.choice(["geometric:20", "constant:3", "never:0.1:uniform:9"]),
        "rewards": draw.choice(["known", "unknown"]),
        "stages": draw.choice(["each", "pooled"]) if "q-learning" not in base else "each",
        "delay_per": draw.choice(["episode", "step"]),
    }
    setting["late"] = "rewards" if setting["rewards"] == "unknown" and seed % 2 else "everything"
    runs = []
    for limit in (MUCH, 0, draw.randrange(1, 3000)):
        with budget.limited_to(limit):
            world = "chain-5"
            runs.append(
                bl.simulate(
                    world,
                    **setting,
                    episodes=150,
                    seed=seed,
                    every=1,
                    trace=True,
                    engine="compiled",
                )
            )
    plain, compiled, switched = runs
    assert isinstance(plain, Run)
    assert difference(plain, compiled) is None, setting
    assert difference(plain, switched) is None, setting


@pytest.mark.parametrize("limit", [0, 1, 7, 25, 90, 400])
def test_a_learner_switches_in_the_middle_of_a_plan(limit: int) -> None:
    values = []
    for work in (MUCH, limit):
        with budget.limited_to(work):
            learner = bl.Learner(
                bl.Shape(3, 2, 6),
                base="ucrl2:scale=0.1",
                updater="active",
                rewards=np.linspace(0, 1, 6).reshape(3, 2),
                episodes=100,
            )
            for id in range(12):
                states = [(id * h) % 3 for h in range(7)]
                learner.observe(bl.Episode(id, states, [(id + h) % 2 for h in range(6)]))
            values.append((learner.value_table.tobytes(), learner.policy.actions.tobytes()))
    assert values[0] == values[1]


def test_a_child_process_compiles_for_a_service() -> None:
    script = """
import belated as bl
from belated.compiled import budget
from belated.learner import background
before = budget.remaining()
with background.compilation_in_background():
    done = background.request(bl.UCRL2())
    assert background.request(bl.UCRL2()) is done
    print(done.wait(300), budget.remaining() > 10**9, budget.checks())
print(background.is_enabled(), budget.remaining() == before)
"""
    assert Program(script).end() == (0, "True True 1\nFalse True\n")
