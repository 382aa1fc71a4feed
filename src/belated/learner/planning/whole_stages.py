"""Calls of a compiled backup for whole stages of a learner state."""

from belated.compiled import address, inlined, reference
from belated.learner.backup import Batch
from belated.learner.planning.full import TIE_TOLERANCE
from belated.learner.planning.stages_call import StagesCall
from belated.learner.state import READS_BEST, READS_SUCCESSORS, Config, LearnerState


@inlined
def tie_tolerance(config: Config) -> float:
    """Return the argument `tolerance` of `store_stage` for a learner with this `config`.

    It is TIE_TOLERANCE if ties are broken at random, else -1.
    """
    return TIE_TOLERANCE if config.random_ties else -1.0


@inlined
def back_up_stages(
    batch: Batch,
    config: Config,
    state: LearnerState,
    plan: int,
    first: int,
    width: int,
    until_same: bool,
    only_changed: bool,
    chooses: bool,
) -> int:
    """Compute and store all values of step `first` and of the steps before it, from packed counts.

    If `chooses`, the greedy actions are stored too, and `state.changed` lists where they changed.
    Otherwise the actions in the table are not changed. `state.scratch.switched` is set to 1 at each
    step at which they may no longer be the greedy actions, and to 0 at the other steps computed.

    Parameters
    ----------
    batch : Batch
        Functions that compute the base's backup for several rows.
    config : Config
        Configuration of the learner.
    state : LearnerState
        State of the learner; its table is changed in place. The packed counts must be up to date.
    plan, first : int
        Number of the plan, and the step to begin with. Steps are computed in descending order.
    width : int
        Number of successors to read for each row; see `packed_width`.
    until_same : bool
        Whether to stop after a step at which no value changed.
    only_changed : bool
        Whether to compute only values that can have changed; see `plan_changed`. Requires separate
        counts for each step, stages of at most MAX_MASK_ROWS rows, a backup that does not read
        visits, and ties that are not broken at random. `until_same` must be False.
    chooses : bool
        Whether to store the greedy actions. Ties must go to the first action.

    Returns
    -------
    int
        Lowest step computed. If it is above 0, none of its values changed.
    """
    counts, table, scratch = state.counts, state.table, state.scratch
    H, S = table.actions.shape
    packed = scratch.packed
    # the value of a row without observations may depend on the values of all states
    unreachable = (S - config.reach[H]) * config.actions
    every_state = config.reads != READS_SUCCESSORS and packed.unseen[0] > unreachable
    skips_explored = config.skips_explored and state.exploration.explore.size > 0
    call = StagesCall(
        constants=address(config.constants),
        h=first,
        horizon=H,
        states=S,
        actions=config.actions,
        stages=counts.visits.shape[0],
        width=width,
        until_same=until_same,
        only_changed=only_changed,
        by_rows=config.reads == READS_SUCCESSORS,
        every_state=every_state,
        monotone=config.monotone,
        reads_best=config.reads >= READS_BEST,
        reads_visits=config.reads_visits,
        chooses=chooses,
        tolerance=tie_tolerance(config),
        seed=config.seed,
        plan=plan,
        q=address(table.q),
        v=address(table.v),
        greedy=address(table.actions),
        top=address(table.top),
        low=address(table.low),
        order=address(table.order),
        rewards=address(state.rewards),
        has_fixed=config.fixed.size > 0,
        fixed=address(config.fixed),
        visits=address(counts.visits),
        no_visits=address(scratch.no_visits),
        succ=address(packed.succ),
        m=address(packed.m),
        n=address(packed.n),
        next_visits=address(packed.next_visits),
        unseen=address(packed.unseen),
        readers=address(scratch.readers.rows),
        reach=address(config.reach),
        state_of=address(scratch.state_of),
        out=address(scratch.out),
        switched=address(scratch.switched),
        skips_explored=skips_explored,
        explored=address(state.exploration.explore),
        touched_head=address(state.touched.head),
        touched_after=address(state.touched.after),
        changed_head=address(state.changed.head),
        changed_after=address(state.changed.after),
    )
    return batch.stages(reference(call))
