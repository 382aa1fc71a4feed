"""Settings of the service: limits and cache times."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Settings of an application. Sizes are in bytes, times in seconds."""

    open: bool = False
    """Whether no token is needed until the first one is created. For trials on one machine."""
    max_body_bytes: int = 1 << 20
    """Maximum size of a body, and of a line of a bulk request."""
    max_bulk_bytes: int = 64 << 20
    """Maximum size of the body of a bulk request."""
    max_bulk_lines: int = 100_000
    """Maximum number of lines of a bulk request."""
    max_problem_cells: int = 2_000_000
    """Maximum of steps x states x actions of a problem."""
    max_batch_events: int = 1000
    """Maximum number of events of several requests in one transaction."""
    max_queued_events: int = 10_000
    """Maximum number of events that wait to be recorded. Requests beyond it get a 503."""
    served_version_ttl_s: float = 0.1
    """Time for which the served version is cached."""
    token_ttl_s: float = 1.0
    """Time for which tokens are cached: a revoked token is accepted no longer than this."""
