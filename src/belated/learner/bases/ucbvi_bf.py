"""UCBVI-BF: a Bernstein-Freedman bonus on the value (Azar, Osband, Munos 2017, Algorithm 4).

    beta = sqrt(8 L Var / N') + 14 H L / (3 N')
         + sqrt(8 sum_y P^(y) min(100^2 H^3 S^2 A L^2 / N'_{h+1}(y), H^2) / N')

where L = ln(5 S A T / delta), and Var is the variance of V~_{h+1} under P^. The constants of the
bonus are C = 1, B_1 = sqrt(8 L Var) + sqrt(8) H and B_2 = 14 H L / 3.

Deviations from the publication:

- There are counts for each stage. The logarithm stays the same, because HSA * K = SA * T.
- The value of a row without observations is R + H' instead of H.
- Q may grow from one plan to the next unless the option `monotone` is set.

At every realistic N' the third term of beta is H sqrt(8 / N'). It is so large that the algorithm as
published needs very many episodes to learn. The option `preset` therefore offers other bonuses:

- "literal": the published bonus beta.
- "no_third": the published bonus without its third term.
- "two_term": sqrt(2 L Var / N') + H L / N', the form B_1 / sqrt(N') + B_2 / N' of Howson et al.
- "emp_bernstein": sqrt(2 L Var / N') + 7 H' L / (3 max(1, N' - 1)) (Maurer and Pontil 2009).
- "simplified_bernstein": 1 / sqrt(N') + (H' + 1) / N', without a variance or a logarithm.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from belated.episode import Shape
from belated.learner.backup import Row, Stage, backup, cap, clipped, mean, rest, squares, unseen
from belated.learner.bases.base import BackupRule, Base, Proof

Preset = Literal["literal", "no_third", "two_term", "emp_bernstein", "simplified_bernstein"]


@backup
def literal(constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
    """Return Q_h(s, a) of `row` with the published bonus of three terms.

    `stage` holds the values of the next step. `constants` holds the scale, 8 L, 14 H L / 3,
    100^2 H^3 S^2 A L^2 and H^2, where L = ln(5 S A T / delta).
    """
    if row.n == 0:
        return unseen(stage, row)
    scale, variance_factor, lower_order, numerator, upper_limit = constants
    centre = mean(stage, row)
    third = 0.0
    for j in range(row.lo, row.hi):
        visits = stage.visits[row.succ[j]]
        third += row.m[j] * (min(numerator / visits, upper_limit) if visits > 0 else upper_limit)
    first = math.sqrt(variance_factor * squares(stage, row, centre))
    terms = first + lower_order + math.sqrt(8 * third)
    return clipped(stage, row, centre, scale * terms / row.n)


@backup
def two_terms(constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
    """Return Q_h(s, a) of `row` with the bonus scale * (sqrt(x Var / N') + y / N').

    Var is the variance of V~_{h+1} under P^. `stage` holds the values of the next step.
    `constants` holds the scale, x and y.
    """
    if row.n == 0:
        return unseen(stage, row)
    scale, variance_factor, lower_order = constants
    centre = mean(stage, row)
    terms = math.sqrt(variance_factor * squares(stage, row, centre)) + lower_order
    return clipped(stage, row, centre, scale * terms / row.n)


@backup
def emp_bernstein(constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
    """Return Q_h(s, a) of `row` with the bonus of the preset "emp_bernstein".

    `stage` holds the values of the next step. `constants` holds the scale and
    L = ln(5 S A T / delta).
    """
    if row.n == 0:
        return unseen(stage, row)
    scale, log = constants
    centre = mean(stage, row)
    beta = math.sqrt(2 * log * squares(stage, row, centre)) / row.n
    beta += 7 * rest(stage) * log / (3 * max(1, row.n - 1))
    return clipped(stage, row, centre, scale * beta)


@backup
def simplified_bernstein(constants: NDArray[np.float64], stage: Stage, row: Row) -> float:
    """Return Q_h(s, a) of `row` with the bonus of the preset "simplified_bernstein".

    `stage` holds the values of the next step. `constants` holds the scale.
    """
    if row.n == 0:
        return unseen(stage, row)
    beta = 1 / math.sqrt(row.n) + cap(stage) / row.n
    return clipped(stage, row, mean(stage, row), constants[0] * beta)


@dataclass(frozen=True)
class UCBVI_BF(Base):
    """Base algorithm UCBVI-BF: value iteration with Bernstein-Freedman bonuses.

    Parameters
    ----------
    preset : {"literal", "no_third", "two_term", "emp_bernstein", "simplified_bernstein"}
        Formula of the bonus. The module docstring gives the formulas; "literal" is as published.
    delta, scale, monotone, ties
        See `Base`.

    Examples
    --------
    >>> from belated import Lazy, chain, simulate
    >>> setting = {"updater": Lazy(10), "delay": "geometric:20", "episodes": 500}
    >>> round(simulate(chain(3), base=UCBVI_BF(scale=0.03), **setting).total_regret, 1)
    20.9
    """

    preset: Preset = "literal"

    name = "ucbvi-bf"
    proofs = (
        Proof(
            "Azar, Osband, Munos 2017",
            "pooled",
            "without delay: the third term uses the regret of all earlier episodes",
            options={"preset": "literal", "monotone": True},
        ),
        Proof(
            "",
            note="the published proof needs `monotone=True`",
            options={"preset": "literal", "monotone": False},
        ),
        Proof("", note="lacks the third term of the proof", options={"preset": "no_third"}),
        Proof("", note="smaller than `no_third`", options={"preset": "two_term"}),
        Proof(
            "",
            note="the inequality of Maurer and Pontil needs the variance of V*, not of V~",
            options={"preset": "emp_bernstein"},
        ),
        Proof("", note="depends on no delta", options={"preset": "simplified_bernstein"}),
    )

    def backup_rule(self, shape: Shape, episodes: int) -> BackupRule:
        H, S, A = shape.table
        log = math.log(5 * S * A * episodes * H / self.delta)
        match self.preset:
            case "literal":
                third = 100**2 * H**3 * S**2 * A * log * log
                numbers = [8 * log, 14 * H * log / 3, third, float(H * H)]
                rule = BackupRule(literal, np.array([self.scale, *numbers]), "successors", True)
            case "no_third":
                numbers = [8 * log, 14 * H * log / 3]
                rule = BackupRule(two_terms, np.array([self.scale, *numbers]), "successors")
            case "two_term":
                numbers = [2 * log, H * log]
                rule = BackupRule(two_terms, np.array([self.scale, *numbers]), "successors")
            case "emp_bernstein":
                rule = BackupRule(emp_bernstein, np.array([self.scale, log]), "successors")
            case "simplified_bernstein":
                rule = BackupRule(simplified_bernstein, np.array([self.scale]), "successors")
        return rule
