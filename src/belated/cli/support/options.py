"""What commands share: options turned into values, and errors into one sentence."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer

Options = dict[str, Any]


@contextmanager
def sentence(hint: str | None = None) -> Iterator[None]:
    """Wrong values within leave with code 2 and one sentence, at the option they came from."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise typer.BadParameter(str(error), param_hint=hint and f"'{hint}'") from None
    except OSError as error:
        raise typer.BadParameter(
            f"{error.filename} cannot be used: {error.strerror}.", param_hint=hint and f"'{hint}'"
        ) from None


def value_of(text: str) -> Any:
    """A number or a truth value where it reads like one.

    >>> value_of("3"), value_of("1e-3"), value_of("true"), value_of("two_term")
    (3, 0.001, True, 'two_term')
    """
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text, text)


def options_of(texts: Sequence[str], bases: Sequence[str]) -> dict[str, Options]:
    """The options of each base: "key=value" is for all of them, "base.key=value" for one.

    >>> options_of(["scale=0.1", "ucbvi-bf.preset=two_term"], ["ucrl2", "ucbvi-bf"])
    {'ucrl2': {'scale': 0.1}, 'ucbvi-bf': {'scale': 0.1, 'preset': 'two_term'}}
    """
    found: dict[str, Options] = {base: {} for base in bases}
    for text in texts:
        address, equals, value = text.partition("=")
        base, _, key = address.strip().rpartition(".")
        if not (equals and key and value.strip()):
            raise ValueError(f"option is {text!r}; it must be 'key=value', such as 'scale=0.1'.")
        if base and base not in found:
            raise ValueError(
                f"option is {text!r}, but {base!r} is not a base here; "
                f"allowed are {', '.join(found)}."
            )
        for one in [base] if base else found:
            found[one][key] = value_of(value.strip())
    return found


def text_of(value: object) -> str:
    """What `value_of` reads back.

    >>> text_of(True), text_of(0.1), text_of("two_term")
    ('true', '0.1', 'two_term')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def with_options(base: str, options: Options) -> str:
    """A base as a person reads it.

    >>> with_options("ucbvi-bf", {"preset": "two_term", "scale": 0.1}), with_options("ucrl2", {})
    ('ucbvi-bf (preset=two_term, scale=0.1)', 'ucrl2')
    """
    listed = ", ".join(f"{key}={text_of(value)}" for key, value in options.items())
    return f"{base} ({listed})" if listed else base
