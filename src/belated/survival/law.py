"""A Kaplan-Meier estimate as a delay law."""

import math
import zlib
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from belated.episode import Floats
from belated.survival.kaplan_meier import KaplanMeier

if TYPE_CHECKING:
    from belated.delays.laws import Law

Tail = Literal["never", "geometric"]


def law_of(km: KaplanMeier, tail: Tail, name: str | None) -> "Law":
    """Return the law with the distribution of an estimate in episodes.

    Parameters
    ----------
    km : KaplanMeier
        The estimate.
    tail : {"never", "geometric"}
        Where the share that is not back after the last return goes; see `DelayEstimate.law`.
    name : str, optional
        Name of the law; by default "kaplan-meier:" and a checksum.

    Returns
    -------
    Law
        The law, which can be pickled.
    """
    import belated

    back = km.returned > 0
    if not back.any():
        raise ValueError("law needs at least one episode that is back, got none.")
    # delays of a law are whole numbers; groups of counts and ages are whole numbers already
    times, survival = np.ceil(km.times[back]), km.survival[back]
    left = float(survival[-1])
    rate = tail_rate(km) if tail == "geometric" and left > 0 else 0.0
    mass = -np.diff(survival, prepend=1.0)
    mean = float(mass @ times)
    if left > 0:
        mean = mean + left * (float(times[-1]) + 1 / rate) if rate else math.inf
    content = np.concatenate([times, survival, [rate]]).astype("<f8").tobytes()
    name = name or f"kaplan-meier:{zlib.crc32(content):08x}"
    return belated.Law(name, mean, partial(step_quantiles, times, 1 - survival, rate))


def tail_rate(km: KaplanMeier) -> float:
    """Return the returns per episode in flight and unit of time, among the later returns.

    These are the returns after the median of the delays that were observed: their number, divided
    by the time that episodes were at risk. It is the maximum likelihood estimate of the rate of a
    geometric distribution from that median on.
    """
    half = (1 + float(km.survival[-1])) / 2
    start = float(km.times[np.flatnonzero(km.survival <= half)[0]])
    later = km.times > start
    if not km.returned[later].any():
        later, start = np.full(km.times.size, True), -1.0
    waits = np.diff(km.times[later], prepend=start)
    return float(km.returned[later].sum() / (km.at_risk[later] @ waits))


def step_quantiles(times: Floats, shares: Floats, rate: float, p: Floats) -> Floats:
    """Return the quantiles of a step function with a geometric tail.

    Parameters
    ----------
    times : array
        Positions of the steps, in increasing order.
    shares : array
        Share back at each of `times`, in increasing order.
    rate : float
        Parameter of the geometric law of the time after the last step; 0 if nothing returns then.
    p : array
        Probabilities in [0, 1].

    Returns
    -------
    array
        Smallest time by which each share `p` is back; inf if it never is.
    """
    # rounding must not move a probability that lies exactly on a step
    places = np.searchsorted(shares, p - 1e-12, side="left")
    beyond = places >= times.size
    result = times[np.minimum(places, times.size - 1)]
    if not beyond.any():
        return result
    result = result.astype(np.float64)
    if rate <= 0:
        result[beyond] = np.inf
        return result
    with np.errstate(divide="ignore"):
        left = np.log((1 - p[beyond]) / (1 - shares[-1]))
        after = np.ceil(left / math.log1p(-rate) - 1e-9) if rate < 1 else np.ones(left.size)
    result[beyond] = times[-1] + np.maximum(after, 1)
    return result
