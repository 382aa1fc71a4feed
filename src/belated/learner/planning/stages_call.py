"""Arguments of one call of a compiled backup for all rows of several stages."""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated.learner.backup_call import call_signature


class StagesCall(NamedTuple):
    """Arguments of one call of a compiled backup, for all rows of several stages.

    Arrays are passed as pointers to their data; see `belated.learner.backup_call.BackupCall`.
    """

    constants: NDArray[np.float64]
    h: int  # first step to compute; the steps before it follow
    horizon: int
    states: int
    actions: int
    stages: int  # number of stages of the counts: horizon, or 1 for pooled counts
    width: int  # number of successors to read for each row
    until_same: bool  # whether to stop after a step without a changed value
    only_changed: bool  # whether to compute only values that can have changed; see `plan_changed`
    by_rows: bool  # whether a changed value affects only the rows in `readers`
    every_state: bool  # whether to compute the values of states beyond `reach`, too
    monotone: bool  # whether no Q may become larger than in the previous plan
    reads_best: bool  # whether the backup reads the largest or the smallest value
    reads_visits: bool  # whether the backup reads visits
    chooses: bool  # whether to store the greedy actions; if not, `switched` shows where they change
    tolerance: float  # see `store_stage`
    seed: np.uint64
    plan: int
    q: NDArray[np.float64]  # (horizon, states * actions) of the plan, as the next five
    v: NDArray[np.float64]  # (horizon + 1, states)
    greedy: NDArray[np.int32]  # (horizon, states) greedy actions
    top: NDArray[np.float64]  # (horizon + 1)
    low: NDArray[np.float64]  # (horizon + 1)
    order: NDArray[np.int32]  # not read
    rewards: NDArray[np.float64]  # (horizon, states * actions)
    has_fixed: bool
    fixed: NDArray[np.float64]  # (horizon, states * actions) fixed values, else NaN, if has_fixed
    visits: NDArray[np.int64]  # (stages, states)
    no_visits: NDArray[np.int64]  # (states) zeros
    succ: NDArray[np.int32]  # this field and the next four: see PackedCounts
    m: NDArray[np.int32]
    n: NDArray[np.int32]
    next_visits: NDArray[np.int32]
    unseen: NDArray[np.int64]
    readers: NDArray[np.int64]  # (stages, states) see Readers
    reach: NDArray[np.int64]  # (horizon + 1) see Config
    state_of: NDArray[np.int32]  # (states * actions) state of each row
    out: NDArray[np.float64]  # (states * actions) receives Q of a stage
    switched: NDArray[np.int64]  # (horizon) receives 1 or 0, see `store_stage`
    skips_explored: bool  # whether states with an action in `explored` need no greedy action
    explored: NDArray[np.bool_]  # (horizon, states * actions) mask, if skips_explored
    touched_head: NDArray[np.int32]  # rows with new observations, by stage: see Worklist
    touched_after: NDArray[np.int32]
    changed_head: NDArray[np.int32]  # receives h * states + s where an action changed: see Worklist
    changed_after: NDArray[np.int32]


SIGNATURE: Final = call_signature(StagesCall)
