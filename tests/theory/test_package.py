"""Tests of the public names of `belated.theory`."""

import subprocess
import sys

import pytest

from belated import theory


def test_formulas_do_not_import_numba() -> None:
    script = (
        "import sys; import belated.theory as t; "
        "t.best_alpha(t.alpha.Shape(2, 2, 2), episodes=9, mean_delay=1); "
        "print('numba' in sys.modules, 'scipy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "False False\n", done.stderr


def test_every_public_name_can_be_imported() -> None:
    for name in theory.__all__:
        assert callable(getattr(theory, name)) or name == "TABLE_1"
    with pytest.raises(
        AttributeError, match=r"^module 'belated.theory' has no attribute 'unknown'$"
    ):
        theory.unknown  # noqa: B018
