"""Every base in several variants, and the ways to update."""

from typing import Any

import belated as bl
from regression.internals import BASES

VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "ubev": ("ubev", {"scale": 0.05}),
    "ubev span": ("ubev", {"scale": 0.05, "range": "span"}),
    "ubev monotone": ("ubev", {"scale": 0.1, "monotone": True}),
    "ubev random ties": ("ubev", {"scale": 0.02, "ties": "random", "delta": 0.2}),
    "ucbvi-ch": ("ucbvi-ch", {"scale": 0.01}),
    "ucbvi-ch H-h": ("ucbvi-ch", {"scale": 0.02, "range": "H-h"}),
    "ucbvi-ch monotone": ("ucbvi-ch", {"monotone": True, "ties": "random"}),
    "ucbvi-bf literal": ("ucbvi-bf", {}),
    "ucbvi-bf literal monotone": ("ucbvi-bf", {"scale": 0.01, "monotone": True}),
    "ucbvi-bf no_third": ("ucbvi-bf", {"scale": 0.02, "preset": "no_third"}),
    "ucbvi-bf two_term": ("ucbvi-bf", {"scale": 0.03, "preset": "two_term"}),
    "ucbvi-bf random ties": ("ucbvi-bf", {"preset": "two_term", "ties": "random", "scale": 0.1}),
    "ucbvi-bf emp_bernstein": ("ucbvi-bf", {"scale": 0.03, "preset": "emp_bernstein"}),
    "ucbvi-bf simplified": ("ucbvi-bf", {"scale": 0.3, "preset": "simplified_bernstein"}),
    "ucrl2 exact": ("ucrl2", {"scale": 0.1}),
    "ucrl2 bonus": ("ucrl2", {"scale": 0.1, "form": "bonus"}),
    "ucrl2 common": ("ucrl2", {"scale": 0.2, "radius": "common"}),
    "ucrl2 jaksch bonus": ("ucrl2", {"scale": 0.05, "radius": "jaksch", "form": "bonus"}),
    "ucrl2 paper": ("ucrl2", {"scale": 0.05, "radius": "paper", "ties": "random"}),
    "ucrl2 monotone": ("ucrl2", {"monotone": True, "scale": 0.3}),
    "ucrl2b exact": ("ucrl2b", {"scale": 0.02}),
    "ucrl2b bonus": ("ucrl2b", {"scale": 0.02, "form": "bonus"}),
    "ucrl2b random ties": ("ucrl2b", {"scale": 0.05, "ties": "random", "monotone": True}),
    "kl-ucrl exact": ("kl-ucrl", {"scale": 0.05}),
    "kl-ucrl bonus": ("kl-ucrl", {"scale": 0.05, "form": "bonus"}),
    "kl-ucrl filippi": ("kl-ucrl", {"scale": 0.02, "radius": "filippi", "ties": "random"}),
    "kl-ucrl filippi bonus": ("kl-ucrl", {"radius": "filippi", "form": "bonus", "scale": 0.02}),
    "chi2-ucrl exact": ("chi2-ucrl", {"scale": 0.002}),
    "chi2-ucrl practical": ("chi2-ucrl", {"scale": 0.03, "radius": "practical"}),
    "chi2-ucrl bonus": ("chi2-ucrl", {"scale": 0.002, "form": "bonus"}),
    "chi2-ucrl practical bonus": (
        "chi2-ucrl",
        {"scale": 0.03, "form": "bonus", "radius": "practical", "ties": "random"},
    ),
    "psrl": ("psrl", {}),
    "psrl update": ("psrl", {"prior": 0.3, "resample": "update"}),
    "psrl episode": ("psrl", {"prior": 0.5, "resample": "episode"}),
    "psrl random ties": ("psrl", {"prior": 0.1, "ties": "random"}),
    "rlsvi": ("rlsvi", {"scale": 0.1}),
    "rlsvi clipped update": ("rlsvi", {"scale": 0.2, "clip": True, "resample": "update"}),
    "rlsvi K": ("rlsvi", {"scale": 0.05, "k": "K", "ties": "random"}),
    "q-learning hoeffding": ("q-learning", {"scale": 0.02}),
    "q-learning H-h+1": ("q-learning", {"scale": 0.05, "range": "H-h+1", "ties": "random"}),
    "q-learning bernstein": ("q-learning", {"scale": 0.01, "bonus": "bernstein"}),
    "q-learning bernstein H-h+1": (
        "q-learning",
        {"scale": 0.005, "bonus": "bernstein", "range": "H-h+1"},
    ),
    "epsilon-greedy": ("epsilon-greedy", {}),
    "epsilon-greedy random ties": ("epsilon-greedy", {"epsilon": 0.3, "ties": "random"}),
    "greedy": ("epsilon-greedy", {"epsilon": 0.0}),
    "random": ("random", {}),
    "fixed": ("fixed", {}),
    "optimal": ("optimal", {}),
}
"""Names of bases with options. A fixed policy gets its actions from the shape."""

STEPWISE = frozenset(name for name, (base, _) in VARIANTS.items() if base == "q-learning")
"""Variants that learn step by step and so plan neither from counts nor pooled."""

UPDATERS: dict[str, bl.Updater] = {
    "active": bl.Active(),
    "lazy 1": bl.Lazy(1),
    "lazy 10": bl.Lazy(10),
    "lazy auto": bl.Lazy("auto"),
    "explicit": bl.ExplicitExploration(c=0.1),
    "explicit sh": bl.ExplicitExploration(threshold=9, unit="sh", pooled=False),
    "explicit rare": bl.ExplicitExploration(threshold=6, draw="rare", pooled=False),
    "explicit tau_max": bl.ExplicitExploration(tau_max=3, log="SHA", c=0.5, delta=0.1),
    "explicit no log": bl.ExplicitExploration(tau_max=7, log="none", draw="rare"),
    "multi": bl.MultiInstance(),
}


def base_of(variant: str, shape: bl.Shape) -> bl.Base:
    """Return the base of a variant for a problem of this shape."""
    name, options = VARIANTS[variant]
    if name == "fixed":
        H, S, A = shape.table
        options = {"actions": [[(h + 2 * s) % A for s in range(S)] for h in range(H)]}
    return BASES[name](**options)
