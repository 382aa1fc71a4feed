"""One row and the stage after it, built by hand."""

import numpy as np
from numpy.typing import ArrayLike

from belated.learner.backup import Row, Stage


def make(
    v: ArrayLike,
    m: ArrayLike,
    *,
    n: int | None = None,
    h: int = 0,
    horizon: int = 5,
    reward: float = 0.0,
    visits: ArrayLike | None = None,
) -> tuple[Stage, Row]:
    """The stage worth `v`, and a row whose successors were seen `m` times, zeros included.

    The row sits inside a pool whose other entries belong to nobody, as it does in a learner.
    """
    values = np.array(v, np.float64)
    counts = np.array(m, np.int64)
    seen = np.flatnonzero(counts)
    stage = Stage(
        h=h,
        horizon=horizon,
        v=values,
        visits=np.zeros(values.size, np.int64) if visits is None else np.array(visits, np.int64),
        top=float(values.max()),
        low=float(values.min()),
        order=np.argsort(-values, kind="stable").astype(np.int32),
    )
    row = Row(
        s=0,
        a=0,
        n=int(counts.sum()) if n is None else n,
        reward=reward,
        lo=1,
        hi=1 + seen.size,
        succ=np.concatenate(([0], seen, [values.size - 1])).astype(np.int32),
        m=np.concatenate(([7], counts[seen], [7])).astype(np.int64),
    )
    return stage, row
