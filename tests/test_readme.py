"""What the README shows works as printed."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_every_block_of_the_readme_runs(block: str) -> None:
    namespace: dict[str, object] = {"__name__": "readme"}
    exec(block, namespace)
    assert "run" in namespace


def test_the_readme_opens_with_the_tour() -> None:
    assert len(BLOCKS) == 2
    for line in ("bl.optimal_value(world)", "bl.plan(", "learner.observe(", "learner.snapshot()"):
        assert line in BLOCKS[0]
