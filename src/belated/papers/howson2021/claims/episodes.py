"""Claims about the dependence of regret on the number of episodes.

Regret after K/4 and K/2 episodes is read from the checkpoints of the runs with K episodes.
"""

from collections.abc import Iterator
from itertools import product
from typing import Final

import numpy as np

from belated.papers.howson2021.claims.verdict import Tested, all_hold, claim, is_above, is_below
from belated.papers.howson2021.evidence import Evidence, make_condition
from belated.papers.howson2021.grid import LEARNERS, PROPOSED_UPDATERS
from belated.papers.statistics import bootstrap_interval, mean_interval, resample_means

PENALTY_MARGIN: Final = 0.1
"""Maximum relative growth of the delay penalty for which it is accepted as constant. The growth is
measured while the number of episodes doubles. A penalty proportional to the square root of the
number of episodes would grow by 0.41."""


@claim(
    "penalty-independent-of-episodes",
    "The penalty for delays is an additive term that is independent of the number of episodes.",
    "Conclusion",
)
def _penalty_does_not_grow(evidence: Evidence) -> Iterator[Tested]:
    """The claim holds for a learner in a setting if the mean penalty grows by less than 10 % from
    K/4 to K/2 episodes, and by less than 10 % from K/2 to K episodes. The penalty is the learner's
    regret minus its regret without delay with the same seed."""
    for condition, updater in product(evidence.conditions(delayed=True), PROPOSED_UPDATERS):
        none = make_condition(condition.states, condition.law, 0)
        regret = evidence.regret_at([(none, updater), (condition, updater)], (1 / 4, 1 / 2, 1))
        if regret is None:
            continue
        penalty = regret[:, 1] - regret[:, 0]
        slack = (1 + PENALTY_MARGIN) * penalty[:, :-1] - penalty[:, 1:]
        yield Tested(
            f"{condition}, {LEARNERS[updater]}",
            all_hold(is_above(mean_interval(column), 0, len(penalty)) for column in slack.T),
            tuple(
                (f"penalty at {part}", mean_interval(penalty[:, i]))
                for i, part in enumerate(("K/4", "K/2", "K"))
            ),
        )


@claim(
    "sub-linear",
    "Both procedures maintain the sub-linear guarantees of the base algorithm.",
    "Conclusion",
)
def _regret_is_sub_linear(evidence: Evidence) -> Iterator[Tested]:
    """The claim holds for a learner in a setting if its mean regret R(K) after K episodes is less
    than twice its mean regret R(K/2) after K/2 episodes: the exponent log2(R(K) / R(K/2)) is below
    1. Linear regret has the exponent 1, and regret of order sqrt(K) has the exponent 0.5."""
    for condition, updater in product(evidence.conditions(), PROPOSED_UPDATERS):
        regret = evidence.regret_at([(condition, updater)], (1 / 2, 1))
        if regret is None or not (regret > 0).all():
            continue
        means, draws = regret[:, 0].mean(axis=0), resample_means(regret[:, 0])
        exponent = bootstrap_interval(
            float(np.log2(means[1] / means[0])), np.log2(draws[:, 1] / draws[:, 0]), len(regret)
        )
        test = is_below(exponent, 1, len(regret))
        yield Tested(f"{condition}, {LEARNERS[updater]}", test, (("exponent", exponent),))
