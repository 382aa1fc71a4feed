"""Client of the service. The client depends only on the standard library.

Requests that fail temporarily are retried with increasing waiting times. Retries are safe: the
client draws the id of a new episode, so that a retry does not open a second episode, and the
service recognizes repeated feedback.
"""

from belated.client.client import Client
from belated.client.responses import LineResult, NamedPolicy, OpenEpisode
from belated.client.transport import ServiceError

__all__ = ["Client", "LineResult", "NamedPolicy", "OpenEpisode", "ServiceError"]
