"""Built-in bases and updaters reject invalid options, in one line that names the option."""

import math
from dataclasses import fields, replace
from typing import Any

import pytest

import belated as bl
from belated.learner.bases import BASES

PARTS: list[Any] = [kind() for name, kind in BASES.items() if name not in ("fixed", "optimal")]
PARTS += [bl.Lazy(10), bl.ExplicitExploration(threshold=7), bl.Batched(), bl.Scheduled(3)]
PARTS += [bl.ExplicitExploration(tau_max=4, unit="sh", pooled=False), bl.Matured(bl.Lazy(2), age=4)]


def invalid_options() -> list[tuple[Any, str, object]]:
    """Return NaN for each numeric option of each part, and an unknown word for each Literal."""
    found: list[tuple[Any, str, object]] = []
    for part in PARTS:
        for option in fields(part):
            value = getattr(part, option.name)
            if option.init and "Literal" in str(option.type):
                found.append((part, option.name, "unknown"))
            elif option.init and isinstance(value, int | float) and not isinstance(value, bool):
                found.append((part, option.name, math.nan))
    return found


@pytest.mark.parametrize(("part", "option", "value"), invalid_options())
def test_an_invalid_option_is_rejected_in_one_line(part: Any, option: str, value: object) -> None:
    with pytest.raises((TypeError, ValueError), match=option) as raised:
        replace(part, **{option: value})
    message = str(raised.value)
    assert message.endswith((".", "?"))
    assert "\n" not in message
