"""Parsers of the names of worlds, bases and updaters.

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

from belated.learner.bases import BASES, BaseAlgorithm
from belated.learner.updaters import UPDATERS, Updater
from belated.mdp.worlds import world as parse_world

__all__ = ["parse_base", "parse_updater", "parse_world"]


def parse_base(text: str, options: Mapping[str, Any] | None = None) -> BaseAlgorithm:
    """Return the base with the name `text`, constructed with `options`.

    `text` is the name of a built-in base, or "module:Class" for a class to import. Raise ValueError
    if the name or an option is invalid.
    """
    if ":" in text:
        module, _, name = text.partition(":")
        try:
            kind = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise ValueError(f"base {text!r} cannot be imported: {error}.") from None
    elif text in BASES:
        kind = BASES[text]
    else:
        raise ValueError(
            f"base must be one of {', '.join(BASES)}, or 'module:Class', got {text!r}."
        )
    try:
        base = kind(**(options or {}))
    except TypeError as error:
        raise ValueError(f"base {text!r} does not accept these options: {error}.") from None
    if not isinstance(base, BaseAlgorithm):
        raise ValueError(f"base must be a belated.Base, but {text!r} is not.")
    return base


def parse_updater(text: str, options: Mapping[str, Any] | None = None) -> Updater:
    """Return the updater with the name `text`, constructed with `options`.

    Names are "active", "explicit", "multi" and "lazy:ALPHA", where ALPHA is a number, "inf" or
    "auto". Raise ValueError if the name or an option is invalid.
    """
    name, colon, value = text.partition(":")
    if name not in UPDATERS or (name == "lazy") != bool(colon):
        raise ValueError(
            f"updater must be 'active', 'lazy:ALPHA', 'explicit' or 'multi', got {text!r}."
        )
    if name == "lazy":
        try:
            alpha = value if value == "auto" else float(value)
        except ValueError:
            raise ValueError(
                f"updater must have a number or 'auto' after 'lazy:', got {text!r}."
            ) from None
        return UPDATERS["lazy"](alpha, **(options or {}))  # type: ignore[call-arg]
    try:
        return UPDATERS[name](**(options or {}))
    except TypeError as error:
        raise ValueError(f"updater {text!r} does not accept these options: {error}.") from None
