"""Cell of a sweep: one setting with a block of seeds. Each cell has a readable id and a digest."""

import hashlib
import importlib.util
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import groupby, pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Final

from belated.delays.laws import FORMS
from belated.simulation.simulation import Setting

RESULTS_VERSION: Final = 1
"""Version number in the digest of every cell.

It must be increased whenever a change of the code changes results.
"""

NOT_IN_DIGESTS: Final = MappingProxyType(
    {
        "points": (None,),
        "rewards": ("known",),
        "late": ("everything",),
        "reward_bonus": ("hoeffding",),
        "planning": ("auto", "incremental"),  # the default, and the one before; the same results
        "delay_per": ("episode",),
    }
)
"""Map from the names of fields to values with which they are left out of digests.

Digests are stored with results. Fields that were added later are left out with their default
values, so that digests of older cells stay valid. The table must not change; a field that is added
to settings is added here with its default.
"""

CHANGED_RESULTS: Final[Mapping[str, Callable[["Cell"], bool]]] = MappingProxyType(
    {
        "world_version": lambda cell: cell.world.startswith(("frozen-lake", "icu-sepsis")),
        "base_version": lambda cell: (
            cell.base.partition(":")[0] in ("ubev", "ucrl2b", "kl-ucrl", "psrl")
        ),
        "formula_version": lambda cell: cell.is_corrected,
    }
)
"""Map from the name of a version number in digests to a test: whether the version is 2, because the
results of a cell have changed; all other cells have no version. The table must not change.

The worlds have terminal states, the bases compute logarithms with `belated.elementary`, and
formulas were corrected.
"""

FROZEN_SOURCES: Final = MappingProxyType({"belated.papers.howson2021.base": "62fa92f8d4187521"})
"""Map from a module of this package with a base to the digest of its source when its results last
changed, which digests of cells contain. The entry must change when the results do."""

MAX_DELAY_CHARACTERS: Final = 120
"""Length up to which the name of a delay law is part of an id in full; an id is the name of a file.
"""

SEEDS_PER_CELL: Final = 5
"""Maximum number of seeds in a cell. It is small because a sweep that is killed loses the runs of
its unfinished cells."""

IDENTIFIER: Final = re.compile(r"[^\W\d][\w.]*")
"""Regular expression for the name of a module, or of an object in a module."""


@dataclass(frozen=True, kw_only=True)
class Cell(Setting):
    """One setting of a sweep with a block of seeds.

    A cell determines the results of its runs completely.
    """

    seeds: tuple[int, ...]
    label: str = field(default="", compare=False)  # replaces the base's name in ids, unless empty

    @property
    def setting(self) -> str:
        """Id of the setting, without the seeds, such as "chain-30/ucrl2/geometric-100/lazy-10"."""
        late = ":rewards" if self.late == "rewards" else ""
        steps = ":steps" if self.delay_per == "step" else ""
        delay = f"{shorten(self.delay)}{late}{steps}"
        parts = (self.world, self.base_label, delay, self.updater)
        return "/".join(part.replace(":", "-").replace("/", "-") for part in parts)

    @property
    def base_label(self) -> str:
        """Part of the id that names the base, and options that differ from their defaults.

        The option `stages` is in no part of an id, because older ids do not have it.
        """
        parts = [self.label or self.base.rpartition(":")[2]]
        if self.rewards == "unknown":
            parts.append("unknown-rewards")
        for name in ("reward_bonus", "planning"):
            if getattr(self, name) not in NOT_IN_DIGESTS[name]:
                parts.append(getattr(self, name))
        return "-".join(parts)

    @property
    def id(self) -> str:
        """Id of the cell, such as "chain-30/ucrl2/geometric-100/lazy-10/seeds-0-4"."""
        return f"{self.setting}/seeds-{self.seeds[0]}-{self.seeds[-1]}"

    @property
    def digest(self) -> str:
        """First 16 hex digits of the SHA-256 of all fields that determine the results."""
        facts = {
            name: value
            for name, value in asdict(self).items()
            if name != "label" and value not in NOT_IN_DIGESTS.get(name, ())
        }
        facts |= {name: 2 for name, changed in CHANGED_RESULTS.items() if changed(self)}
        own = (self.world, self.base, *split_delay(self.delay), self.updater)
        if code := digest_own_code(own):
            facts["code"] = code
        text = json.dumps([RESULTS_VERSION, facts], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def is_corrected(self) -> bool:
        """Whether a correction of a formula has changed the results of the cell.

        There were three corrections. The reward bonus "filippi" now has a union bound over the
        steps. The radius "paper" of UCRL2 now uses the same delta with unknown rewards as with
        known ones. `Lazy("auto")` now takes the scale of the base into account.
        """
        base = self.parse_base()
        scale = getattr(base, "scale", 1.0)
        if self.parse_updater().lazy_alpha() == "auto" and scale != 1.0:
            return True
        paper = getattr(base, "radius", "") == "paper"
        return self.rewards == "unknown" and (paper or self.reward_bonus == "filippi")


def shorten(text: str) -> str:
    """Return `text`, or its beginning and a digest if it is too long for the name of a file."""
    if len(text) <= MAX_DELAY_CHARACTERS:
        return text
    return f"{text[:MAX_DELAY_CHARACTERS]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def split_delay(text: str) -> list[str]:
    """Return the names of the laws in `text`, the name of a delay law that is made of others.

    >>> split_delay("by_action:0=constant:5,1=my_laws:slow")[1:]
    ['constant:5', '1', 'my_laws:slow']
    """
    return re.split("[(),=]", text) if text.partition(":")[0] in FORMS else [text]


def digest_own_code(texts: Iterable[str]) -> str:
    """Return a digest of the source files of the modules named in `texts`; "" if there are none.

    `texts` name bases, updaters, delay laws and worlds, such as "my_bases:MyBase:scale=0.1"; see
    `belated.names`. The digest changes when one of the files changes, so that results of the old
    code are computed again.
    """
    pairs = [pair for text in texts for pair in pairwise(text.split(":"))]
    modules = [a for a, b in pairs if IDENTIFIER.fullmatch(a) and IDENTIFIER.fullmatch(b)]
    if len(modules) == 1 and modules[0] in FROZEN_SOURCES:
        return FROZEN_SOURCES[modules[0]]
    sources = b"".join(read_source(module) for module in modules)
    return hashlib.sha256(sources).hexdigest()[:16] if sources else ""


def read_source(module: str) -> bytes:
    """Return the content of the source file of the module named `module`.

    The content is empty if there is no such module or file.
    """
    try:
        found = importlib.util.find_spec(module)
        return Path(found.origin).read_bytes() if found and found.origin else b""
    except (ImportError, OSError, ValueError):
        return b""


def seed_blocks(seeds: Iterable[int], size: int = SEEDS_PER_CELL) -> Iterator[tuple[int, ...]]:
    """Yield the distinct `seeds` in blocks of at most `size` seeds.

    Two seeds are in the same block if and only if seed // `size` is the same. A full block
    therefore stays the same when more seeds are added.

    >>> list(seed_blocks(range(7)))
    [(0, 1, 2, 3, 4), (5, 6)]
    """
    for _, block in groupby(sorted(set(seeds)), key=lambda seed: seed // size):
        yield tuple(block)
