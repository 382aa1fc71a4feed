"""Choice of alpha for lazy updating: the theory's advice, Lazy("auto") and fixed values compared.

Lazy(alpha) plans when some count has grown by a factor of 1 + 1/alpha; alpha = infinity is active
updating. With a small alpha there are few plans, based on old counts; with a large alpha there are
many. Theorem 2 of Howson et al. (2023) bounds the regret for every alpha, and `best_alpha` returns
the alpha with the smallest bound. Lazy("auto") uses that alpha for the mean delay observed so far.

The bound is far above the regret of these runs, and its best alpha is smaller than theirs. With
alpha = 10 the regret is almost that of active updating, with a thirtieth of its plans.

    python examples/choosing_alpha.py            # prints a table for each delay
    python examples/choosing_alpha.py --fast     # fewer seeds
"""

import math
import sys

import numpy as np

import belated as bl
from belated.theory import best_alpha


def main(fast: bool) -> None:
    world, base = bl.chain(10), bl.UCRL2(scale=0.05)
    episodes = 20_000
    for mean in (0, 100, 500):
        setting = {"episodes": episodes, "mean_delay": mean, "base": base.name, "scale": base.scale}
        advice = best_alpha(world.shape, **setting)
        print(f"Mean delay {mean}: the bound is least at alpha = {advice:.2f}")
        for alpha in (1, 10, 100, math.inf, "auto"):
            runs = bl.simulate_many(
                world,
                base=base,
                updater=bl.Lazy(alpha),
                delay=bl.delays.geometric(mean),
                episodes=episodes,
                seeds=range(2 if fast else 20),
            )
            regret = [run.total_regret for run in runs]
            error = np.std(regret, ddof=1) / math.sqrt(len(regret))
            plans = np.mean([run.updates for run in runs])
            print(f"{alpha:>6}  regret {np.mean(regret):5.1f} ± {error:3.1f}  {plans:6,.0f} plans")
        print(f"        auto ended at alpha = {runs[-1].alpha[-1]:.2f}")


if __name__ == "__main__":
    main(fast="--fast" in sys.argv)
