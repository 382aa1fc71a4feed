"""belated: episodic reinforcement learning with delayed feedback.

The public names are listed in `__init__.pyi`. The module of a name is imported when the
name is first used, so that `belated --help` starts quickly.
"""

from typing import Any

import lazy_loader

__version__ = "0.2.0"

_import_attribute, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    """Return the public attribute `name`.

    Raises AttributeError, with suggestions of similar names, if there is no such attribute.
    """
    if name in __all__ or name.startswith("_"):
        return _import_attribute(name)
    from importlib import import_module

    check = import_module(f"{__name__}.check")
    near = check.did_you_mean(check.similar(name, __all__))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}.{near}")
