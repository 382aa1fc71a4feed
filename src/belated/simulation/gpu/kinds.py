"""Test whether the GPU engine can run a setting, and choice of its kind of kernel."""

import dis
import sys
from collections import Counter
from collections.abc import Sequence
from types import FunctionType
from typing import Final, cast

import numpy as np

from belated.compiled import JIT
from belated.learner.backup import READS_BEST, READS_ORDER, Backup, as_backup
from belated.learner.problem import LearningProblem
from belated.learner.state import configure
from belated.mdp.model import MDP
from belated.simulation.gpu.compiler import called_functions
from belated.simulation.gpu.kernel import Kind
from belated.simulation.gpu.records import MAX_SHARED_BYTES, MAX_THREADS, WARP, Sizes
from belated.simulation.simulation import Simulation

INEXACT: Final = frozenset(
    {
        *("log", "log1p", "log2", "log10", "exp", "expm1", "exp2", "pow", "power", "cbrt", "hypot"),
        *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "arcsin", "arccos", "arctan"),
        *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "gamma", "lgamma", "erf", "erfc"),
    }
)
"""Names of functions whose results may differ in the last bit between the CPU and the GPU."""


def why_not_on_gpu(setting: Simulation) -> str | None:
    """Return the reason why the GPU engine cannot run `setting`, or None if it can."""
    problem = setting.problem(0)
    reason = why_not_supported(setting, problem)
    if reason is not None:
        return reason
    if inexact := inexact_functions(as_backup(problem.backup_rule.backup)):
        return (
            f"the backup of {type(problem.base).__name__} uses {', '.join(inexact)}, whose last "
            "bit differs on a GPU"
        )
    if kind_of(setting.world, problem).sizes.shared_bytes > MAX_SHARED_BYTES:
        return f"{problem.shape.states} states are too many for the shared memory of a GPU"
    return None


def why_not_supported(setting: Simulation, problem: LearningProblem) -> str | None:
    """Return a property of `setting` that no kernel supports, or None if there is none.

    The property is described in a clause for an error message. `problem` is the learning problem of
    the setting.
    """
    base, updater = problem.algorithm, problem.updater
    alpha = updater.lazy_alpha()
    reasons = {
        "each step has its own delay": setting.delay_per == "step",
        "delays depend on the episode": setting.law.dependent,
        "rewards are unknown": problem.unknown_rewards,
        "planning is 'none'": setting.planning == "none",
        "policies are traced": setting.trace,
        "optimism is checked everywhere": setting.optimism == "everywhere",
        f"the base {type(problem.base).__name__} is a Python object": base.planner is not None,
        f"the base {base.name} learns from single steps": base.stepwise,
        "several instances are used": updater.multi_instance,
        "feedback is counted only after an age": updater.min_age > 1,
        "alpha is 'auto'": alpha == "auto",
        f"the updater {type(updater).__name__} has a condition of its own": alpha is None
        or updater.explorer(problem.shape) is not None,
    }
    for reason, applies in reasons.items():
        if applies:
            return reason
    if JIT and not as_backup(problem.backup_rule.backup).compiled:
        return f"the backup of {type(problem.base).__name__} is a plain Python function"
    if problem.episodes * problem.shape.horizon >= 2**31:
        return "there are more than 2**31 steps"
    return None


def explain_cpu(reasons: Sequence[str], total: str) -> None:
    """Print a message on stderr if some computations run on the CPU instead of a GPU.

    `reasons` says why, for each of these computations; `total` is the number of all, such as "9
    cells".
    """
    if reasons:
        counts = Counter(reasons).most_common()
        listed = "; ".join(f"{reason} ({count})" for reason, count in counts)
        message = f"{len(reasons)} of {total} run on the CPU: {listed}."
        print(message, file=sys.stderr, flush=True)


def inexact_functions(backup: Backup) -> list[str]:
    """Return the names of functions that `backup` calls and that are not exact on a GPU.

    These are the functions in `INEXACT` and the operator "**". Indirect calls are included.
    """
    found: set[str] = set()
    for function in called_functions(backup.function):
        for step in dis.get_instructions(function.__code__):
            name = str(step.argval)
            value = function.__globals__.get(name) if step.opname == "LOAD_GLOBAL" else None
            if step.opname in ("LOAD_ATTR", "LOAD_METHOD") or is_from_library(value):
                found |= {name} & INEXACT
            if step.opname == "BINARY_POWER" or step.argrepr in ("**", "**="):
                found.add("**")
    return sorted(found)


def is_from_library(value: object) -> bool:
    """Return whether `value` is a function of `math` or of NumPy."""
    return callable(value) and getattr(value, "__module__", "") in ("math", "numpy")


def kind_of(world: MDP, problem: LearningProblem) -> Kind:
    """Return the kind of kernel that runs `problem` in `world`."""
    shape, config, epsilon = problem.shape, configure(problem, 0), float(problem.algorithm.epsilon)
    backup = as_backup(problem.backup_rule.backup)
    pooled = problem.count_stages == 1
    exploration = problem.updater.with_longest_delay(1.0).exploration(shape, epsilon)
    counts_visits = exploration.visits.size > 0
    sizes = Sizes(
        S=shape.states,
        A=shape.actions,
        H=shape.horizon,
        capacity=largest_support(world, pooled),
        threads=min(MAX_THREADS, WARP * -(-shape.states // WARP)),
        pooled=pooled,
        random_ties=config.random_ties,
        monotone=config.monotone,
        extremes=config.reads >= READS_BEST,
        order=config.reads == READS_ORDER,
        visits=config.reads_visits,
        samples=config.samples,
        stochastic=counts_visits or epsilon > 0,
        counts_visits=counts_visits,
        visits_pooled=counts_visits and exploration.visits.shape[0] == 1,
        by_state=exploration.by_state,
        rare_only=exploration.rare_only,
        every_episode=config.every_episode,
    )
    return Kind(sizes, cast(FunctionType, backup.function))


def largest_support(world: MDP, pooled: bool) -> int:
    """Return the largest number of possible successors of a row of the counts in `world`.

    If counts are `pooled`, the successors of a row are those of its state and action at all steps.
    """
    sizes = np.diff(world.ptr)
    if not pooled or world.homogeneous:
        return int(sizes.max())
    cells = world.shape.states * world.shape.actions
    row = np.repeat(np.arange(sizes.size), sizes) % cells
    pairs = np.unique(row * world.shape.states + world.succ)
    return int(np.bincount(pairs // world.shape.states, minlength=cells).max())
