"""Cooperation of the threads of a run, and random numbers for them.

The threads of a run are a block of one or more warps. All threads plan; the first warp also
delivers feedback and plays, which has too little work for more threads. The simulator of numba-cuda
has no operations on warps; in the simulator, the first warp is the whole block.
"""

from typing import Any, Final

import numpy as np

from belated.randomness import uniform
from belated.simulation.gpu.compiler import SIMULATED, cuda, library_function, phase, replace_on_gpu

LANES: Final = 4 if SIMULATED else 32
"""Number of threads of a warp."""

MAX_THREADS: Final = LANES if SIMULATED else 128
"""Largest number of threads of a run."""

ALL_LANES: Final = 0xFFFFFFFF

M0: Final = np.uint32(0xD2511F53)  # these four: see `belated.randomness`
M1: Final = np.uint32(0xCD9E8D57)
W0: Final = np.uint32(0x9E3779B9)
W1: Final = np.uint32(0xBB67AE85)


def threads_for(rows: int) -> int:
    """Return the number of threads, a multiple of `LANES`, for a run with `rows` rows in each step.

    The results of the run do not depend on this number. More threads plan faster, but leave room
    for fewer runs on the GPU.
    """
    return min(MAX_THREADS, LANES * max(1, rows // (4 * LANES)))


if SIMULATED:

    @phase
    def warp_barrier() -> None:
        """Wait until all threads of the warp have called this function.

        Each thread then sees what the others have stored.
        """
        cuda.syncthreads()

    @phase
    def any_in_warp(condition: Any) -> Any:
        """Return whether `condition`, 0 or 1, is 1 for any thread of the warp."""
        return cuda.syncthreads_or(condition) != 0

    def multiply_high(x: Any, y: Any) -> Any:
        """Return the upper 32 bits of the product of two unsigned words, given as np.int32."""
        return np.int64((int(np.uint32(x)) * int(np.uint32(y))) >> 32)

else:
    multiply_high = library_function("umulhi")

    @phase
    def warp_barrier() -> None:
        """Wait until all threads of the warp have called this function.

        Each thread then sees what the others have stored.
        """
        cuda.syncwarp()

    @phase
    def any_in_warp(condition: Any) -> Any:
        """Return whether `condition`, 0 or 1, is 1 for any thread of the warp."""
        found = cuda.any_sync(ALL_LANES, condition != 0)
        cuda.syncwarp()
        return found


@phase
def barrier(threads: int) -> None:
    """Wait until all threads of the run have called this function.

    `threads` is the number of these threads, a constant in the kernel.
    """
    if threads > LANES:
        cuda.syncthreads()
    else:
        warp_barrier()


@phase
def any_thread(threads: int, condition: Any) -> Any:
    """Return whether `condition`, 0 or 1, is 1 for any of the `threads` threads of the run."""
    if threads > LANES:
        return cuda.syncthreads_or(condition) != 0
    return any_in_warp(condition)


@phase
def high_word(x: Any, y: Any) -> Any:
    """Return the upper 32 bits of the product of two np.uint32."""
    return np.uint32(multiply_high(np.int32(x), np.int32(y)))


@phase
def philox_32(c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any) -> Any:
    """Return the four random words that `belated.randomness.philox` returns; all are np.uint32.

    The counter consists of the words `c0` .. `c3`, and the key of `k0` and `k1`.

    A GPU has 32-bit registers; 64-bit words would take several times as many instructions.
    """
    for _ in range(10):
        high0, low0 = high_word(c0, M0), np.uint32(c0 * M0)
        high1, low1 = high_word(c2, M1), np.uint32(c2 * M1)
        c0 = np.uint32(high1 ^ c1 ^ k0)
        c1 = low1
        c2 = np.uint32(high0 ^ c3 ^ k1)
        c3 = low0
        k0 = np.uint32(k0 + W0)
        k1 = np.uint32(k1 + W1)
    return c0, c1, c2, c3


@phase
def uniform_32(seed: Any, stream: int, episode: int, step: int) -> float:
    """Return the uniform random number in [0, 1) that `belated.randomness.uniform` returns.

    `seed`, `stream`, `episode` and `step` are its key.
    """
    key = np.uint64(seed)
    at = np.uint64(episode)
    w0, w1, _, _ = philox_32(
        np.uint32(step),
        np.uint32(at),
        np.uint32(at >> np.uint64(32)),
        np.uint32(stream),
        np.uint32(key),
        np.uint32(key >> np.uint64(32)),
    )
    high = np.uint32(w0 >> np.uint32(5))
    low = np.uint32(w1 >> np.uint32(6))
    return (float(high) * 67108864.0 + float(low)) / 9007199254740992.0


replace_on_gpu(uniform, uniform_32)
