"""The text of a study file: a calibrated scale is put in, and everything else stays as it was."""

import re
import tomllib
from collections.abc import Mapping
from typing import Any

Options = Mapping[str, Any]

HEADER = re.compile(r"\s*\[\[\s*bases\s*\]\]\s*(#.*)?$")
SECTION = re.compile(r"\s*\[")
KEY = re.compile(r"\s*[\w\"'.-]+\s*=")
SCALE = re.compile(r"(\s*scale\s*=\s*)[^\s#]+(.*)", re.DOTALL)


def read(text: str) -> dict[str, Any]:
    """The study, or a sentence about what is wrong with the file."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"the study file is not TOML: {error}.") from None


def entry_of(text: str, name: str, options: Options) -> int:
    """Which of the file's [[bases]] is this one, whatever its scale."""
    bases = read(text).get("bases", [])
    if not isinstance(bases, list) or not all(isinstance(base, dict) for base in bases):
        raise ValueError("the study file must hold its bases as [[bases]] sections.")
    wanted = {"name": name, **options}
    same = [i for i, base in enumerate(bases) if identity(base) == identity(wanted)]
    if len(same) != 1:
        count = "no base" if not same else f"{len(same)} bases"
        raise ValueError(
            f"the study file holds {count} like this one; it needs exactly one section with:\n"
            f"{snippet(name, options)}"
        )
    return same[0]


def identity(base: Options) -> dict[str, Any]:
    """What tells a base from others: not its scale, which is looked for, nor its label."""
    return {key: value for key, value in base.items() if key not in ("scale", "label")}


def with_scale(text: str, name: str, options: Options, scale: float) -> str:
    """The text with this scale in the entry of this base."""
    entry = entry_of(text, name, options)
    lines = text.splitlines(keepends=True)
    begin, end = span(lines, entry)
    for i in range(begin, end):
        if found := SCALE.fullmatch(lines[i]):
            lines[i] = f"{found[1]}{scale}{found[2]}"
            break
    else:
        last = max((i for i in range(begin, end) if KEY.match(lines[i])), default=begin - 1)
        ending = "\r\n" if lines[begin - 1].endswith("\r\n") else "\n"
        lines[last] = lines[last].rstrip("\r\n") + ending
        lines.insert(last + 1, f"scale = {scale}{ending}")
    edited = "".join(lines)
    wanted = read(text)
    wanted["bases"][entry]["scale"] = scale
    try:
        unharmed = tomllib.loads(edited) == wanted
    except tomllib.TOMLDecodeError:
        unharmed = False
    if not unharmed:
        raise ValueError(
            "the study file is written in a way that cannot be edited here; "
            "give its base a plain line such as scale = 1.0."
        )
    return edited


def span(lines: list[str], entry: int) -> tuple[int, int]:
    """The lines of an entry, between its header and the next one."""
    headers = [i for i, line in enumerate(lines) if HEADER.match(line)]
    if entry >= len(headers):
        raise ValueError("the study file must hold its bases as [[bases]] sections.")
    begin = headers[entry] + 1
    later = (i for i in range(begin, len(lines)) if SECTION.match(lines[i]))
    return begin, next(later, len(lines))


def snippet(name: str, options: Options) -> str:
    """A base as it stands in a study file.

    >>> print(snippet("ucbvi-bf", {"preset": "two_term", "scale": 0.03}))
    [[bases]]
    name = "ucbvi-bf"
    preset = "two_term"
    scale = 0.03
    """
    pairs = {"name": name, **options}.items()
    return "\n".join(["[[bases]]", *(f"{key} = {literal(value)}" for key, value in pairs)])


def minimal(
    study: str,
    *,
    world: str,
    base: str,
    options: Options,
    updater: str,
    delay: str,
    episodes: int,
    seeds: int,
    stages: str,
) -> str:
    """A study of one setting, to begin with."""
    settings = {
        "name": study,
        "episodes": episodes,
        "seeds": seeds,
        "worlds": [world],
        "updaters": [updater],
        "delays": [delay],
    }
    if stages != "each":
        settings["stages"] = stages
    lines = [f"{key} = {literal(value)}" for key, value in settings.items()]
    return "\n".join([*lines, "", snippet(base, options), ""])


def literal(value: Any) -> str:
    """A value as TOML.

    >>> literal('say "hi"'), literal(True), literal(["a", 1])
    ('"say \\\\"hi\\\\""', 'true', '["a", 1]')
    """
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        quoted = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{quoted}"'
    return str(value)
