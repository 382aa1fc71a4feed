"""The wheel without extras, and the client, with each Python that is installed."""

import subprocess
from pathlib import Path

import pytest

from belated.cli.support.errors import find_spec  # noqa: F401
