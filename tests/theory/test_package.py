"""What `belated.theory` offers."""

import subprocess
import sys

import pytest

from belated import theory


def test_formulas_load_no_compiler() -> None:
    script = (
        "import sys; import belated.theory as t; from belated.theory.comparison import compare; "
        "t.best_alpha(t.alpha.Shape(2, 2, 2), episodes=9, mean_delay=1); "
        "print('numba' in sys.modules, 'scipy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "False False\n", done.stderr


def test_everything_public_is_there() -> None:
    for name in theory.__all__:
        assert callable(getattr(theory, name)) or name == "TABLE_1"
    with pytest.raises(AttributeError, match=r"^module 'belated.theory' has no attribute 'luck'$"):
        theory.luck  # noqa: B018
