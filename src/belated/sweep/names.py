"""Worlds, bases, updaters and delays by the names a person would write.

>>> parse_world("chain-30")
MDP(states=30, actions=2, horizon=30, homogeneous, 90 successors)
>>> parse_updater("lazy:10")
Lazy(alpha=10.0)
>>> parse_base("ucrl2", {"scale": 0.1}).scale
0.1
"""

import importlib
from collections.abc import Mapping
from typing import Any

from belated.learner.bases import BASES, Base
from belated.learner.updaters import UPDATERS, Updater
from belated.mdp.worlds import world as parse_world

__all__ = ["parse_base", "parse_updater", "parse_world"]


def parse_base(text: str, options: Mapping[str, Any] | None = None) -> Base:
    """A built-in base by its name, or your own as "module:Class", with its options."""
    if ":" in text:
        module, _, name = text.partition(":")
        try:
            kind = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise ValueError(f"base is {text!r}, which cannot be imported: {error}.") from None
    elif text in BASES:
        kind = BASES[text]
    else:
        raise ValueError(
            f"base is {text!r}; it must be one of {', '.join(BASES)}, or 'module:Class'."
        )
    try:
        base = kind(**(options or {}))
    except TypeError as error:
        raise ValueError(f"base {text!r} does not take these options: {error}.") from None
    if not isinstance(base, Base):
        raise ValueError(f"base is {text!r}, which is not a belated.Base.")
    return base


def parse_updater(text: str, options: Mapping[str, Any] | None = None) -> Updater:
    """ "active", "lazy:ALPHA" (a number, inf or auto), "explicit" or "multi"."""
    name, colon, value = text.partition(":")
    if name not in UPDATERS or (name == "lazy") != bool(colon):
        raise ValueError(
            f"updater is {text!r}; it must be 'active', 'lazy:ALPHA', 'explicit' or 'multi'."
        )
    if name == "lazy":
        try:
            alpha = value if value == "auto" else float(value)
        except ValueError:
            raise ValueError(
                f"updater is {text!r}; after 'lazy:' comes a number or 'auto'."
            ) from None
        return UPDATERS["lazy"](alpha, **(options or {}))  # type: ignore[call-arg]
    try:
        return UPDATERS[name](**(options or {}))
    except TypeError as error:
        raise ValueError(f"updater {text!r} does not take these options: {error}.") from None
