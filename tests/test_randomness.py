"""Counter-based random numbers: the published generator, and independent draws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from belated.randomness import (
    DELAY,
    EXPLORE,
    REWARD,
    START,
    TIES,
    TRANSITION,
    check_seed,
    philox,
    uniform,
)

STREAMS = (START, TRANSITION, REWARD, DELAY, TIES, EXPLORE)
WORD = 2**32 - 1


def by_hand(counter: list[int], key: list[int]) -> list[int]:
    """Return Philox4x32-10 computed with Python integers (Salmon et al. 2011, Section 3.3)."""
    (a, b, c, d), (k0, k1) = counter, key
    for _ in range(10):
        high_a, low_a = divmod(0xD2511F53 * a, 2**32)
        high_c, low_c = divmod(0xCD9E8D57 * c, 2**32)
        a, b, c, d = high_c ^ b ^ k0, low_c, high_a ^ d ^ k1, low_a
        k0, k1 = (k0 + 0x9E3779B9) & WORD, (k1 + 0xBB67AE85) & WORD
    return [a, b, c, d]


def words(*given: int) -> list[int]:
    return [int(word) for word in philox(*(np.uint64(word) for word in given))]


@pytest.mark.plain
@pytest.mark.parametrize(
    ("given_words", "expected"),
    [
        ([0] * 6, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ([WORD] * 6, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0],
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
    ids=["zeros", "ones", "digits of pi"],
)
def test_philox_gives_the_published_answers(given_words: list[int], expected: str) -> None:
    assert " ".join(f"{word:08x}" for word in words(*given_words)) == expected
    assert by_hand(given_words[:4], given_words[4:]) == words(*given_words)


@settings(max_examples=200, deadline=None)
@given(
    st.integers(0, 2**64 - 1),
    st.sampled_from(STREAMS),
    st.integers(0, 2**63 - 1),
    st.integers(0, WORD),
)
def test_a_uniform_is_53_bits_at_its_address(
    seed: int, stream: int, episode: int, step: int
) -> None:
    counter = [step, episode & WORD, episode >> 32, stream]
    first, second, _, _ = by_hand(counter, [seed & WORD, seed >> 32])
    bits = (first >> 5) * 2**26 + (second >> 6)
    drawn = uniform(np.uint64(seed), stream, episode, step)
    assert drawn == bits / 2**53
    assert 0 <= drawn < 1


def draws(
    count: int, *, seed: int = 1, stream: int = 1, episode: int = 0, step: int = 0
) -> np.ndarray:
    """Return draws at addresses whose part given as -1 runs from 1."""
    made = []
    for i in range(1, count + 1):
        made.append(uniform(*(i if x == -1 else x for x in (seed, stream, episode, step))))
    return np.array(made)


@pytest.mark.parametrize("part", ["seed", "stream", "episode", "step"])
def test_draws_along_any_part_of_the_address_are_uniform(part: str) -> None:
    u = draws(8000, **{part: -1})
    counts = np.bincount((u * 16).astype(int), minlength=16)
    assert ((counts - 500) ** 2 / 500).sum() < 37.7  # chi-squared, 15 degrees, 0.1 %
    assert abs(u.mean() - 0.5) < 4 / np.sqrt(12 * 8000)
    # and successive ones are not related
    assert abs(np.corrcoef(u[1:], u[:-1])[0, 1]) < 4 / np.sqrt(8000)


@pytest.mark.parametrize("part", ["seed", "stream", "episode", "step"])
def test_draws_at_two_addresses_are_not_related(part: str) -> None:
    runs_along = "step" if part == "episode" else "episode"
    one, other = (draws(8000, **{part: value, runs_along: -1}) for value in (2, 3))
    assert abs(np.corrcoef(one, other)[0, 1]) < 4 / np.sqrt(8000)
    low = (one < 0.5).astype(int) + 2 * (other < 0.5)
    assert ((np.bincount(low) - 2000) ** 2 / 2000).sum() < 16.3  # 3 degrees, 0.1 %


def test_a_seed_is_a_key_of_64_bits() -> None:
    assert check_seed(np.uint64(2**64 - 1)) == 2**64 - 1
    for seed in (-1, 2**64):
        with pytest.raises(
            ValueError, match=rf"^seed must lie in 0 \.\. 2\*\*64 - 1, got {seed}\.$"
        ):
            check_seed(seed)
    for wrong in (1.0, "1", None, True):
        with pytest.raises(TypeError, match=rf"^seed must be an integer, got {wrong!r}\.$"):
            check_seed(wrong)
