"""belated: episodic reinforcement learning with delayed feedback.

The public names are listed in `__init__.pyi`. Their modules are imported when they are first used,
so that `belated --help` starts quickly.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
