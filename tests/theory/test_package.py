"""Tests of the public names of `belated.theory`."""

import pytest

from belated import theory


def test_every_public_name_can_be_imported() -> None:
    for name in theory.__all__:
        assert callable(getattr(theory, name)) or name == "TABLE_1"
    with pytest.raises(
        AttributeError, match=r"^module 'belated.theory' has no attribute 'unknown'$"
    ):
        theory.unknown  # noqa: B018
