"""Client for the service that needs only the standard library.

Requests that fail on the way are sent again, after increasing waiting times. This is safe: an
episode is opened under an id drawn by the client, and the service recognizes repeated feedback.
"""

from belated.client.client import Client
from belated.client.responses import LineResult, NamedPolicy, OpenEpisode
from belated.client.transport import ServiceError

__all__ = ["Client", "LineResult", "NamedPolicy", "OpenEpisode", "ServiceError"]
