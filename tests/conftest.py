"""Settings of all tests."""

import signal
import sys

import pytest
from hypothesis import settings

from combinations import FULL

# A first call may compile for seconds, and a busy machine may be slow: neither is a failure.
settings.register_profile("belated", deadline=None, max_examples=100 if FULL else 50)
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


def pytest_configure() -> None:
    """Let Ctrl-C raise KeyboardInterrupt also where a shell starts the tests in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_sessionfinish() -> None:
    """Stop the PostgreSQL server, if a test has started it."""
    if "databases" in sys.modules:
        sys.modules["databases"].session.close()
