"""Study files (TOML): change the scale of a base in an existing file, or create a new file."""

from collections.abc import Mapping
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Table

Options = Mapping[str, Any]


def read_study_text(path: Path) -> str:
    """Return the content of the study file `path`; raise ValueError if it is not UTF-8."""
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 ({error.reason} at byte {error.start}).") from None


def set_scale(text: str, name: str, options: Options, scale: float) -> str:
    """Return the text of a study file in which the scale of one base is replaced or added.

    Parameters
    ----------
    text : str
        Content of the study file.
    name, options : str, mapping
        Name of the base, and its options without the scale. Exactly one [[bases]] section must
        match.
    scale : float
        The new scale.

    Returns
    -------
    str
        The edited text. Comments, spaces and line endings are unchanged.

    Raises
    ------
    ValueError
        If `text` is not TOML, if the number of matching sections is not 1, or if the [[bases]]
        sections are not next to each other.
    """
    document = _parse(text)
    base = _find_base(document, name, options)
    lines = text.splitlines(keepends=True)
    before = tomlkit.dumps(document).splitlines(keepends=True)
    if list(map(_without_spaces, lines)) != list(map(_without_spaces, before)):
        raise ValueError(
            "the study file cannot be edited, because its [[bases]] sections are not next to each "
            "other; move them together."
        )
    if "scale" in base:
        base["scale"] = scale
    else:
        plain = [item for key, item in base.value.body if key and not isinstance(item, Table | AoT)]
        newline = base.trivia.trail or "\n"
        plain[-1].trivia.trail = f"{newline}scale = {scale}{newline}"
    after = tomlkit.dumps(document).splitlines(keepends=True)
    # Copy only changed lines: tomlkit writes "[[ bases ]]" as "[[bases]]".
    for tag, i, j, first, last in SequenceMatcher(None, before, after, False).get_opcodes():
        if tag != "equal":
            lines[i:j] = after[first:last]
    return "".join(lines)


def format_base_section(name: str, options: Options) -> str:
    """Return the section [[bases]] of a study file for the base `name` with `options`.

    >>> print(format_base_section("ucbvi-bf", {"preset": "two_term", "scale": 0.03}))
    [[bases]]
    name = "ucbvi-bf"
    preset = "two_term"
    scale = 0.03
    """
    return tomlkit.dumps({"bases": [{"name": name, **options}]}).rstrip()


def format_study(
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
    """Return the text of a study file with a single setting.

    Parameters
    ----------
    study : str
        Name of the study.
    world, base, updater, delay, stages : str
        Values of the setting, as given on the command line.
    options : mapping
        Options of the base, including its scale.
    episodes, seeds : int
        Number of episodes of each run, and number of runs.

    Returns
    -------
    str
        Content of the file.
    """
    settings = {
        "name": study,
        "episodes": episodes,
        "seeds": seeds,
        "worlds": [world],
        "updaters": [updater],
        "delays": [delay],
        **({"stages": stages} if stages != "each" else {}),
    }
    return f"{tomlkit.dumps(settings)}\n{format_base_section(base, options)}\n"


def _without_spaces(line: str) -> str:
    return "".join(line.split())


def _parse(text: str) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        raise ValueError(f"the study file is not TOML: {error}.") from None


def _find_base(document: tomlkit.TOMLDocument, name: str, options: Options) -> Table:
    """Return the only [[bases]] section of `document` that matches `name` and `options`.

    The keys scale and label are ignored. Raise ValueError if the number of matches is not 1.
    """
    bases = document.get("bases", [])
    if bases and not isinstance(bases, AoT):
        raise ValueError("the study file must list its bases as [[bases]] sections.")
    wanted = {"name": name, **options}
    wanted.pop("label", None)
    found = []
    for base in bases:
        own = base.unwrap()
        if {key: own[key] for key in own if key not in ("scale", "label")} == wanted:
            found.append(base)
    if len(found) != 1:
        raise ValueError(
            f"the study file must have exactly one section like the following, got {len(found)}:\n"
            f"{format_base_section(name, options)}"
        )
    return found[0]
