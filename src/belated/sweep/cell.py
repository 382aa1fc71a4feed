"""Cell of a sweep: one setting with a block of seeds. Each cell has a readable id and a digest."""

import hashlib
import importlib.util
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from belated.delays.laws import FORMS
from belated.delays.laws import parse as parse_delay
from belated.learner.bases import BASE_NAMES
from belated.learner.updaters import UPDATER_NAMES
from belated.learner.updaters.updater import Updater
from belated.mdp.worlds import world as parse_world
from belated.options import SimulationOptions, option_values
from belated.simulation.setting import Setting

RESULTS_VERSION = 1
"""Version number in the digest of every cell.

It must be increased whenever a change of the code changes results.
"""

WORLD_VERSIONS = {"frozen-lake": 2, "icu-sepsis": 2}
"""Map from the beginning of the name of a world to the version number of its results.

It contains the worlds whose results have changed. Since version 2 they have terminal states."""

BASE_VERSIONS = {"ubev": 2, "ucrl2b": 2, "kl-ucrl": 2, "psrl": 2}
"""Map from the name of a base to the version number of its results.

It contains the bases whose results have changed. Version 2 computes logarithms with
`belated.elementary`."""

CORRECTED_VERSION = 2
"""Version number in the digest of cells whose results were changed by a corrected formula; see
`Cell.is_corrected`."""

MAX_DELAY_CHARACTERS = 120
"""Length up to which the name of a delay law is part of an id in full; an id is the name of a file.
"""

SEEDS_PER_CELL = 5
"""Maximum number of seeds in a cell. It is small because a sweep that is killed loses the runs of
its unfinished cells."""

DEFAULT_POINTS = 200
"""Number of evenly spaced checkpoints of a run if the attribute `points` of its cell is None."""

DEFAULTS = SimulationOptions()
"""Options of a simulation with their default values."""

OLD_DEFAULTS = {"planning": "incremental"}
"""Map from the name of an option to its earlier default value. The option does not affect results.

Earlier defaults are left out of ids and digests, like the current ones, so that results that were
stored with them stay valid.
"""

NOT_IN_BASE_LABEL = ("late", "delay_per", "stages")
"""Names of options that are not included in the part of an id that names the base.

`late` and `delay_per` are in the part that names the delay. `stages` is in no part of an id,
because older ids do not have it.
"""

IDENTIFIER = re.compile(r"[^\W\d][\w.]*")
"""Regular expression for the name of a module, or of an object in a module."""

Options = tuple[tuple[str, Any], ...]
"""Names and values of options, as a hashable tuple of pairs."""


@dataclass(frozen=True)
class Cell(SimulationOptions):
    """One setting of a sweep with a block of seeds, given by names and numbers.

    A cell determines the results of its runs completely. The options of a simulation are inherited
    from `SimulationOptions`.
    """

    world: str
    base: str
    delay: str
    updater: str
    episodes: int
    seeds: tuple[int, ...]
    base_options: Options = ()
    updater_options: Options = ()
    rewards: Literal["known", "unknown"] = "known"
    points: int | None = None  # evenly spaced checkpoints; None: DEFAULT_POINTS and early ones
    label: str = field(default="", compare=False)  # replaces the base's name in ids, unless empty

    @property
    def setting(self) -> str:
        """Id of the setting, without the seeds, such as "chain-30/ucrl2/geometric-100/lazy-10"."""
        delay = shorten(self.delay) + self.delay_suffix
        parts = (self.world, self.base_label, delay, self.updater)
        return "/".join(part.replace(":", "-").replace("/", "-") for part in parts)

    @property
    def base_label(self) -> str:
        """Part of the id that names the base, and the options that differ from their defaults."""
        parts = [self.label or self.base.rpartition(":")[2]]
        if self.rewards == "unknown":
            parts.append("unknown-rewards")
        for name, value in option_values(self, SimulationOptions).items():
            defaults = getattr(DEFAULTS, name), OLD_DEFAULTS.get(name)
            if name not in NOT_IN_BASE_LABEL and value not in defaults:
                parts.append(value)
        return "-".join(parts)

    @property
    def delay_suffix(self) -> str:
        """Suffix that shows the options `late` and `delay_per` in the part of the id for the delay.

        It is empty if both options have their defaults.
        """
        return (":rewards" if self.late == "rewards" else "") + (
            ":steps" if self.delay_per == "step" else ""
        )

    @property
    def id(self) -> str:
        """Id of the cell, such as "chain-30/ucrl2/geometric-100/lazy-10/seeds-0-4"."""
        return f"{self.setting}/seeds-{self.seeds[0]}-{self.seeds[-1]}"

    @property
    def every(self) -> int | None:
        """Number of episodes between two checkpoints; None if `points` is None."""
        return None if self.points is None else max(1, self.episodes // self.points)

    @property
    def digest(self) -> str:
        """First 16 hex digits of the SHA-256 of all fields that determine the results."""
        # Later fields with default values are omitted, so that digests of older cells stay valid.
        defaults = {"rewards": "known", **asdict(DEFAULTS), "stages": None}
        facts = {name: x for name, x in asdict(self).items() if x != defaults.get(name)}
        facts = {name: x for name, x in facts.items() if x != OLD_DEFAULTS.get(name)}
        facts.pop("label", None)
        for name, version in WORLD_VERSIONS.items():
            if self.world.startswith(name):
                facts["world_version"] = version
        for name, version in BASE_VERSIONS.items():
            if self.base.partition(":")[0] == name:
                facts["base_version"] = version
        if self.is_corrected:
            facts["formula_version"] = CORRECTED_VERSION
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
        base = BASE_NAMES.parse(self.base, dict(self.base_options))
        updater = UPDATER_NAMES.parse(self.updater, dict(self.updater_options))
        scale = getattr(base, "bonus_scale", 1.0)
        if isinstance(updater, Updater) and updater.lazy_alpha() == "auto" and scale != 1.0:
            return True
        paper = getattr(base, "radius", "") == "paper"
        return self.rewards == "unknown" and (paper or self.reward_bonus == "filippi")

    def build(self) -> Setting:
        """Return the setting to simulate. Raise ValueError if the cell is invalid."""
        return Setting(
            world=parse_world(self.world),
            base=BASE_NAMES.parse(self.base, dict(self.base_options)),
            updater=UPDATER_NAMES.parse(self.updater, dict(self.updater_options)),
            delay=parse_delay(self.delay),
            episodes=self.episodes,
            every=self.every,
            points=DEFAULT_POINTS,
            rewards=self.rewards,
            **option_values(self, SimulationOptions),
        )


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


def normalize_delay(text: str) -> str:
    """Return the canonical name of the delay law named `text`.

    All laws with mean zero have the canonical name "constant:0". A law that cannot be created from
    its attribute `name`, such as an imported law, has the canonical name `text`.

    >>> normalize_delay("geometric:0"), normalize_delay("geometric:100.0")
    ('constant:0', 'geometric:100')
    """
    law = parse_delay(text)
    if law.mean == 0:
        return "constant:0"
    try:
        return law.name if parse_delay(law.name) == law else text
    except ValueError:
        return text


def seed_blocks(seeds: Iterable[int], size: int = SEEDS_PER_CELL) -> Iterator[tuple[int, ...]]:
    """Yield the distinct `seeds` in blocks of at most `size` seeds.

    Two seeds are in the same block if and only if seed // `size` is the same. A full block
    therefore stays the same when more seeds are added.

    >>> list(seed_blocks(range(7)))
    [(0, 1, 2, 3, 4), (5, 6)]
    """
    by_block: dict[int, list[int]] = {}
    for seed in sorted(set(seeds)):
        by_block.setdefault(seed // size, []).append(seed)
    yield from (tuple(block) for block in by_block.values())
