"""Settings: how much the service takes at once, and how fresh it is."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """What can be set; sizes are in bytes, times in seconds."""

    open: bool = False
    """Whether requests need no token as long as none was ever made: for a trial on one machine."""
    body: int = 1 << 20
    """The largest body, and the longest line of a bulk."""
    bulk: int = 64 << 20
    """The largest body of a bulk."""
    lines: int = 100_000
    """The most lines of a bulk."""
    cells: int = 2_000_000
    """The most steps x states x actions of a problem."""
    batch: int = 1000
    """The most events that are recorded together."""
    queue: int = 10_000
    """The most events that wait to be recorded; what comes on top is told to try again."""
    patience: float = 0.1
    """How old the answer may be to which version of a policy is served."""
    token_patience: float = 1.0
    """How long a token may work after it was revoked."""
