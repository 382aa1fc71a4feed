"""Build hook of belated-client: take the modules from src/belated/client of the repository.

An sdist contains them as belated_client, so that it can be built without the repository.
"""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCE = Path(__file__).parents[1] / "src" / "belated" / "client"


class CustomBuildHook(BuildHookInterface[Any]):
    """Add the modules to the sdist, or to a wheel that is built from the repository."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if SOURCE.is_dir():
            build_data["force_include"][str(SOURCE)] = "belated_client"
