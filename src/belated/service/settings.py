"""Settings of the service: limits on requests, and lifetimes of cached values."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Limits and cache lifetimes of an application. Sizes are in bytes, times in seconds."""

    open: bool = False
    """Whether requests from this machine need no token until the first token is created. This is
    meant for trials."""
    max_body_bytes: int = 1 << 20
    """Maximum size of the body of a request, and of one line of a bulk request."""
    max_bulk_bytes: int = 64 << 20
    """Maximum size of the body of a bulk request."""
    max_bulk_lines: int = 100_000
    """Maximum number of lines in a bulk request."""
    max_problem_cells: int = 2_000_000
    """Maximum product of the numbers of steps, states and actions of a problem."""
    max_batch_events: int = 1000
    """Maximum number of events in one transaction. A request with more events gets a transaction of
    its own."""
    max_queued_events: int = 10_000
    """Maximum number of events in the queue for recording. A request that exceeds it gets a 503."""
    served_version_ttl_s: float = 0.1
    """Time for which the served version of a problem is cached."""
    max_requests_per_s: float = 0
    """Maximum number of requests per second with one token, with bursts of one second; 0 for no
    limit. Each process counts on its own."""
    token_ttl_s: float = 1.0
    """Time for which tokens are cached. A revoked token may be accepted for this long."""
