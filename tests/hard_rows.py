"""Random rows with what makes an inner maximisation hard: ties, unobserved and rare states."""

from collections.abc import Iterator

import numpy as np

from belated.episode import Floats, Ints


def hard_rows(
    count: int, seed: int, *, sizes: tuple[int, ...], most: float = 1e5
) -> Iterator[tuple[Floats, Ints]]:
    """`count` pairs (v, m): the next values, and how often each state was seen, 1 to `most`."""
    random = np.random.default_rng(seed)
    for i in range(count):
        S = int(random.choice(sizes))
        v = 5 * random.random(S)
        shape = i % 6
        if shape == 1:  # ties
            v = random.integers(0, 3, S).astype(np.float64)
        elif shape == 2:  # one good state
            v = np.where(np.arange(S) == random.integers(S), 5.0, 0.0)
        elif shape == 3:  # nearly flat, far from zero
            v = 10 + 1e-4 * v
        n = 1 if i % 11 == 0 else 1 + int(most ** random.random())
        rare = random.dirichlet(np.full(S, 10 ** random.uniform(-1.5, 1)))
        m = random.multinomial(n, rare)
        if shape == 4 and S > 1:  # the best state was never seen
            best = int(np.argmax(v))
            m[best - 1] += m[best]
            m[best] = 0
        if shape == 5:  # what was seen is worth the same
            v[m > 0] = v[m > 0].min()
        yield v, m
