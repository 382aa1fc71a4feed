"""A client for the service, with nothing but the standard library.

Whatever fails on the way is sent again, after longer and longer waits. That is safe: an episode
is opened under an id that is drawn here, and what the service has already counts as a repeat.
"""

from belated.client.client import Client
from belated.client.plans import Line, OpenEpisode, Plan
from belated.client.transport import ServiceError

__all__ = ["Client", "Line", "OpenEpisode", "Plan", "ServiceError"]
