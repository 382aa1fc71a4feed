"""Client of the service. The client depends only on the standard library.

The distribution `belated-client` contains these modules as the package `belated_client`. They
therefore import each other by relative names, and run with Python 3.9.

Requests that fail temporarily are retried with increasing waiting times. Retries are safe: the
client draws the id of a new episode, so that a retry does not open a second episode, and the
service recognizes repeated feedback.
"""

from .client import Client
from .policies import NamedPolicy, OpenEpisode
from .transport import ServiceError
from .wire import LineResult

__all__ = ["Client", "LineResult", "NamedPolicy", "OpenEpisode", "ServiceError"]
