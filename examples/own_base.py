"""An algorithm of your own, compared with two built-in ones under late feedback.

MBIE-EB (Strehl and Littman 2008) adds the bonus beta / sqrt(n) to the estimated value. As a base it
consists of one function of the counts of one (step, state, action), and a class with its options.
Late feedback, lazy updating, exact regret, seeds and compiled code need no further work.

    python examples/own_base.py            # prints regret, draws out/own_base.png
    python examples/own_base.py --fast     # fewer episodes and seeds
"""

import math
import sys
from dataclasses import dataclass

import numpy as np

import belated as bl
from belated.figures.panels import regret_curves


@bl.backup
def mbie_eb(constants, stage, row):
    if row.n == 0:
        return bl.unseen(stage, row)  # the largest value possible
    return bl.clipped(stage, row, bl.mean(stage, row), constants[0] / math.sqrt(row.n))


@dataclass(frozen=True)
class MBIE_EB(bl.Base):
    beta: float = 1.0

    name = "mbie-eb"

    def backup_rule(self, shape, episodes):
        return bl.BackupRule(mbie_eb, np.array([self.scale * self.beta]), reads="successors")


def main(fast: bool) -> None:
    # Scales about as small as optimism allows here; `belated calibrate` finds them.
    bases = {
        "MBIE-EB, our own": MBIE_EB(beta=0.2),
        "UCBVI-BF": bl.UCBVI_BF(preset="simplified_bernstein", scale=0.1),
        "UCRL2": bl.UCRL2(scale=0.025),
    }
    world = bl.riverswim(6)
    groups = {}
    for name, base in bases.items():
        runs = groups[name] = bl.simulate_many(
            world,
            base=base,
            updater=bl.Lazy(alpha=10),
            delay=bl.delays.geometric(mean=100),
            episodes=300 if fast else 1_000,
            seeds=range(3 if fast else 30),
        )
        regret = np.mean([run.total_regret for run in runs])
        broken = sum(run.optimism_broken > 0 for run in runs)
        print(f"{name:18} regret {regret:6.1f}, optimism broken in {broken} of {len(runs)} runs")
    figure = regret_curves(
        groups,
        title="RiverSwim, feedback 100 episodes late on average",
        command="python examples/own_base.py",
    )
    files = figure.save("out/own_base")
    print("Drawn:", *files)


if __name__ == "__main__":
    main(fast="--fast" in sys.argv)
