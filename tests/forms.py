"""The forms in which kernels run: as plain Python at first, then compiled."""

from collections.abc import Iterator

import pytest

from belated.compiled import budget


@pytest.fixture(scope="module", autouse=True)
def compiled_at_once() -> Iterator[None]:
    """Let no kernel begin as plain Python, in the folders whose conftest imports this."""
    with budget.limited_to(0):
        yield
