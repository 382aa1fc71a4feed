"""Settings of all tests.

Kernels run as plain Python in each test until it has done `PLAIN_WORK`, so that small tests wait
for no compiler. They are compiled at once in tests/compiled, tests/equivalence, tests/regression
and in tests with the marker `compiled`. There, each built-in base runs compiled: it is compared
with the reference loop, the definition, the recorded digests and its form in plain Python. With
BELATED_FULL=1, kernels are compiled at once in all tests.
"""

import signal
import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

from belated.compiled import budget
from combinations import FULL

PLAIN_WORK = 0 if FULL else 40_000
"""Work of a test before its kernels are compiled, about half a second; see `budget`."""

COMPILED = ("compiled", "equivalence", "regression")
"""Folders of tests whose kernels are compiled at once."""

# A first call may compile for seconds, and a busy machine may be slow: neither is a failure.
settings.register_profile("belated", deadline=None, max_examples=100 if FULL else 30)
settings.load_profile("belated")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option `--shard`, for machines without pytest-xdist."""
    parser.addoption("--shard", metavar="I/N", help="run every N-th test only, from the I-th on")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of the shard, if one is given."""
    if (shard := config.getoption("shard")) is not None:
        first, count = map(int, shard.split("/"))
        chosen = items[first - 1 :: count]
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = chosen


@pytest.fixture(autouse=True)
def form_of_kernels(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let kernels of a small test run as plain Python, except where compiled code is tested."""
    at_once = request.path.parent.name in COMPILED or request.node.get_closest_marker("compiled")
    with budget.limited_to(0 if at_once else PLAIN_WORK):
        yield


def pytest_configure() -> None:
    """Let Ctrl-C raise KeyboardInterrupt also where a shell starts the tests in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_sessionfinish() -> None:
    """Stop the PostgreSQL server, if a test has started it."""
    if "databases" in sys.modules:
        sys.modules["databases"].session.close()
