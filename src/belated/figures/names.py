"""Readable names of worlds, bases, updaters and delays, for labels and titles.

>>> base_name("ucbvi-bf:scale=0.1"), updater_name("lazy:10"), delay_name("geometric:100")
('UCBVI-BF, scale 0.1', 'Lazy, α = 10', 'geometric delay, mean 100')
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from belated.delays.laws import LAW_NAMES as LAWS
from belated.learner.bases import BASE_NAMES, BASES
from belated.learner.updaters import UPDATER_NAMES as UPDATERS
from belated.mdp.worlds import WORLD_NAMES
from belated.names import Names

UPDATER_NAMES: Final = {"explicit": "Explicit exploration", "multi": "Multi-instance"}
"""Map from the name of an updater to its readable name.

All other updaters have their capitalized name as readable name.
"""

LAW_NAMES: Final = {
    "poisson": "Poisson",
    "by_action": "action-dependent",
    "by_state": "state-dependent",
    "by_return": "return-dependent",
    "by_time": "time-dependent",
}
"""Map from the name of a delay law to its readable name, for laws in which the two differ."""

OPTION_NAMES: Final = {
    "stages": {"each": "counts of each step", "pooled": "pooled counts"},
    "rewards": {"known": "known rewards", "unknown": "unknown rewards"},
    "late": {"everything": "everything late", "rewards": "only rewards late"},
    "delay_per": {"episode": "whole episodes", "step": "step by step"},
}
"""Map from the name of an option of a simulation to a map from its values to readable values."""


def base_name(text: str, *, options: bool = True) -> str:
    """Return the readable name of a base.

    Parameters
    ----------
    text : str
        Name of the base, optionally followed by its options: "ucrl2", "ucrl2:scale=0.1",
        "module:name", or a label of a study such as "ucrl2-0.1". Any other text is returned
        unchanged.
    options : bool
        Whether to include the options.

    Returns
    -------
    str
        Name such as "UCRL2, scale 0.1".

    Examples
    --------
    >>> base_name("ucbvi-bf-two_term-0.03"), base_name("psrl:scale=2", options=False)
    ('UCBVI-BF, two_term 0.03', 'PSRL')
    """
    for name in sorted(BASES, key=len, reverse=True):
        rest = text.removeprefix(name)
        if rest == text or (rest and rest[0] not in ":-"):
            continue
        own = BASES[name].__name__.replace("_", "-")
        readable = own if own.lower() == name else name.capitalize()
        return with_options(readable, rest) if options else readable
    name, rest = split_imported(BASE_NAMES, text) or (text, "")
    return with_options(name, rest) if options else name


def split_imported(names: Names[Any], text: str) -> tuple[str, str] | None:
    """Return the name and the options in `text`, if it has the form "module:name:options".

    Such a text names an imported base, updater, delay law or world; `names` is the parser of its
    kind, which knows the built-in names. The returned name does not include the module. The
    returned options begin with a colon, or are empty. Return None if `text` has no module.

    >>> split_imported(LAWS, "my_laws:weekly:day=2"), split_imported(LAWS, "poisson:3")
    (('weekly', ':day=2'), None)
    """
    name, options = names.split(text)
    _, colon, short = name.partition(":")
    return (short, f":{options}" if options else "") if colon else None


def with_options(name: str, rest: str) -> str:
    """Return `name`, followed by the options in `rest` after a comma.

    `rest` begins with a colon or a hyphen, or is empty. Options are separated by hyphens or commas.

    >>> with_options("UCRL2", ":scale=0.1,form=bonus")
    'UCRL2, scale 0.1, form bonus'
    """
    if rest.startswith(":"):
        return ", ".join([name, *(part.replace("=", " ") for part in rest[1:].split(","))])
    return ", ".join([name, *([rest[1:].replace("-", " ")] if rest else [])])


def updater_name(text: str) -> str:
    """Return the readable name of the updater `text`, such as "Lazy, α = 10".

    >>> updater_name("active"), updater_name("lazy:auto"), updater_name("explicit:threshold=7")
    ('Active', 'Lazy, automatic α', 'Explicit exploration, threshold 7')
    >>> updater_name("matured:500:scheduled:10"), updater_name("batched:doubling")
    ('Scheduled, every 10 episodes, matured (500 episodes)', 'Batched, doubling grid')
    """
    if own := split_imported(UPDATERS, text):
        return with_options(*own)
    name, _, value = text.partition(":")
    if name == "matured" and ":" in value:
        age, _, other = value.partition(":")
        age = age.replace("share=", "share ").replace(",unit=", " ")
        unit = "" if "s" in age else " episodes"
        return f"{updater_name(other)}, matured ({age}{unit})"
    if name == "batched" and value:
        grid, *rest = value.split(",")
        return with_options(f"Batched, {grid} grid", f":{','.join(rest)}" if rest else "")
    if name == "scheduled" and value:
        every, *rest = value.split(",")
        unit = rest[0].removeprefix("unit=") if rest else "episodes"
        return f"Scheduled, every {every} {unit}"
    if name == "lazy" and value:
        return "Lazy, automatic α" if value == "auto" else f"Lazy, α = {value.replace('inf', '∞')}"
    readable = UPDATER_NAMES.get(name) or name[:1].upper() + name[1:]
    return with_options(readable, f":{value}" if value else "")


def delay_name(text: str) -> str:
    """Return the readable name of the delay law `text`, such as "geometric delay, mean 100".

    If `text` is empty, so is the result.

    >>> delay_name("constant:0"), delay_name("constant:7")
    ('no delay', 'constant delay of 7')
    >>> delay_name("never:0.1:poisson:30")
    'Poisson delay, mean 30, 10% never arrive'
    >>> delay_name("by_action:0=constant:5,1=geometric:100")
    'action-dependent delay, 0=constant 5,1=geometric 100'
    """
    kind, _, mean = text.partition(":")
    if not text:
        return ""
    if kind == "never":
        probability, _, other = mean.partition(":")
        return f"{delay_name(other)}, {100 * float(probability):.3g}% never arrive"
    if kind == "constant":
        return "no delay" if mean == "0" else f"constant delay of {mean}"
    if kind == "weekly":
        return f"{delay_name(mean.partition(':')[2])}, in weekly batches"
    if kind.startswith("by_"):
        return f"{law_name(kind)} delay, {mean.replace(':', ' ')}"
    if kind in ("uniform", "poisson", "geometric"):
        return f"{law_name(kind)} delay, mean {mean}"
    if own := split_imported(LAWS, text):
        return with_options(f"{own[0]} delay", own[1])
    return f"{text} delay"


def law_name(text: str) -> str:
    """Return the readable name, such as "Poisson", of the delay law `text` without its mean."""
    return LAW_NAMES.get(text, text)


def world_name(text: str) -> str:
    """Return the readable name of the world `text`.

    >>> world_name("chain-5"), world_name("my_worlds:clinic:beds=3")
    ('chain-5', 'clinic, beds 3')
    """
    own = split_imported(WORLD_NAMES, text)
    return with_options(*own) if own else text


READERS: Final[dict[str, Callable[[str], str]]] = {
    "base": base_name,
    "updater": updater_name,
    "delay": delay_name,
    "law": lambda text: delay_name(text) if ":" in text else f"{law_name(text)} delay",
    "world": world_name,
}
"""Map from the name of a column of the results to a function that makes its values readable.

The function takes a value as text and returns the readable form.
"""


def readable(column: str, value: object) -> str:
    """Return the readable form, as text, of a `value` in the column named `column` of the results.

    In columns without a readable form, this is `str(value)`.
    """
    text = str(value)
    return OPTION_NAMES.get(column, {}).get(text) or READERS.get(column, str)(text)


def title_of(parts: Sequence[str]) -> str:
    """Return `parts` joined by commas, with a capital first letter. Empty parts are omitted.

    If a part contains a comma, the parts are joined by semicolons instead. The first word is not
    capitalized if it contains characters other than letters, as in "chain-5".

    >>> title_of(["", "no delay", "Active"]), title_of(["UCRL2", "geometric delay, mean 5"])
    ('No delay, Active', 'UCRL2; geometric delay, mean 5')
    """
    shown = [part for part in parts if part]
    text = ("; " if len(shown) > 1 and any("," in part for part in shown) else ", ").join(shown)
    return text[:1].upper() + text[1:] if text.partition(" ")[0].isalpha() else text


def wrap(text: str, width: int) -> str:
    """Return `text`, broken into lines of at most `width` characters.

    Lines are broken only at spaces, and after commas and colons. Longer words are not broken.

    >>> wrap("my_parts:two_point:short=1,long=50", 20).splitlines()
    ['my_parts:two_point:', 'short=1,long=50']
    """
    lines = [""]
    for piece in re.findall(r"[^\s,:]*[,:]*\s*", text):
        if lines[-1] and len((lines[-1] + piece).rstrip()) > width:
            lines.append("")
        lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines)
