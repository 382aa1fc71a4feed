"""Names of delay laws that are made of other laws, such as "by_action:0=constant:5,1=poisson:9".

The laws within a name are separated by commas, each with its key and an equals sign. A law whose
own name contains a comma or an equals sign is in parentheses.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

from belated.delays.laws import FORMS, Law, never, parse
from belated.names import parse_value


def format_entries(keys: Iterable[str], laws: Iterable[Law | str]) -> str:
    """Return the end of the name of a law that is made of `laws`, each with one of `keys`."""
    names = (law if isinstance(law, str) else law.name for law in laws)
    return ",".join(
        f"{key}=({name})" if "," in name or "=" in name else f"{key}={name}"
        for key, name in zip(keys, names, strict=True)
    )


def parse_compound(text: str) -> Law:
    """Return the law with the name `text`, whose first word is one of `FORMS`.

    Raises ValueError if the text has another form, or if a law or number in it is invalid.
    """
    from belated.delays.calendar import by_time, weekly
    from belated.delays.dependent import by_action, by_return, by_state
    from belated.delays.mixture import mixture

    head, _, rest = text.partition(":")
    first, _, others = rest.partition(":")
    numbers = [parse_value(number) for number in first.split("/")]
    begins_with_number = all(map(_is_number, numbers))
    if head in ("never", "weekly"):
        if not others or not begins_with_number or len(numbers) > 1 + (head == "weekly"):
            _reject(text)
        law = parse(_without_parentheses(others))
        if head == "never":
            return never(float(numbers[0]), otherwise=law)
        return weekly(law, numbers[0], week=numbers[-1] if numbers[1:] else 7)
    step = 0
    if head in ("by_action", "by_state") and begins_with_number and len(numbers) == 1:
        step, rest = numbers[0], others
    elif head == "by_state":
        _reject(text)
    entries = [(parse_value(key), law) for key, law in split_entries(text, rest)]
    if head in ("by_action", "by_state"):
        laws = dict(entries)
        if len(laws) < len(entries):
            raise ValueError(f"each key of delay {text!r} must be given once, got one twice.")
        return by_state(step, laws) if head == "by_state" else by_action(laws, step=step)
    if not all(_is_number(key) for key, _ in entries):
        _reject(text)
    if head == "mixture":
        return mixture(entries)
    if head == "by_time":
        return by_time(entries)
    (lowest, _), *_ = entries
    if lowest != 0:
        raise ValueError(
            f"the first return of delay {text!r} must be 0, the smallest possible, got {lowest}."
        )
    return by_return([key for key, _ in entries[1:]], [law for _, law in entries])


def split_entries(text: str, entries: str) -> Iterator[tuple[str, str]]:
    """Yield the key and the law of each of `entries`, the end of the name `text`.

    Raises ValueError if an entry is not of the form KEY=DELAY, or a parenthesis is not closed.
    """
    depth, start = 0, 0
    for i, character in enumerate(entries + ","):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            key, _, law = (part.strip() for part in entries[start:i].partition("="))
            if not key or not law:
                _reject(text)
            yield key, _without_parentheses(law)
            start = i + 1
    if depth != 0:
        raise ValueError(f"parentheses of delay {text!r} must be closed, got one that is not.")


def check_pairs(name: str, entries: Any, example: str) -> list[tuple[Any, Any]]:
    """Return a number and a law, as given by a user, for each of `entries`.

    Raises ValueError if there are none, or if one is not a pair. `name` is the name of the argument
    and `example` an entry in the error message.
    """
    try:
        pairs = [(number, law) for number, law in entries]
    except (TypeError, ValueError):
        pairs = []
    if not pairs:
        raise ValueError(f"{name} must be a list of pairs such as {example}, got {entries!r}.")
    return pairs


def _without_parentheses(law: str) -> str:
    return law[1:-1] if law.startswith("(") and law.endswith(")") else law


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _reject(text: str) -> NoReturn:
    """Raise ValueError because `text` does not have the form that its first word requires."""
    form, example = FORMS[text.partition(":")[0]]
    raise ValueError(f"delay must have the form {form}, such as {example}, got {text!r}.")
