"""Settings of all tests."""

import signal

from hypothesis import settings

# A first call may compile for seconds, and a busy machine may be slow: neither is a failure.
settings.register_profile("belated", deadline=None)
settings.load_profile("belated")


def pytest_configure() -> None:
    """Let Ctrl-C raise KeyboardInterrupt also where a shell starts the tests in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
