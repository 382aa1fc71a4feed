"""Checks of arrays from files, databases and users.

Compiled code does not check indices. Arrays that the program did not compute itself are therefore
checked first: types, shapes, and the range of every number that is used as an index.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]
"""Map from the name of an array to the array."""


def find_array(name: str, like: NDArray[Any], arrays: Arrays, *, growing: bool) -> NDArray[Any]:
    """Return a saved array after a check of its type and shape.

    Parameters
    ----------
    name : str
        Name of the array, a key of `arrays`.
    like : NDArray
        Array with the expected type and shape.
    arrays : dict of str to NDArray
        Map from the name of each saved array to the array.
    growing : bool
        Whether the array may be longer than `like` along its first axis.

    Returns
    -------
    NDArray
        A copy of the saved array, contiguous and writable.

    Raises
    ------
    ValueError
        If there is no array of this name, or if it has another type or shape.
    """
    array = arrays.get(name)
    if array is None:
        raise ValueError(f"{name} is missing")
    shaped = array.shape == like.shape or (
        growing
        and array.ndim == like.ndim
        and array.shape[1:] == like.shape[1:]
        and len(array) >= len(like)
    )
    if array.dtype != like.dtype or not shaped:
        raise ValueError(f"{name} must be {like.dtype} of shape {like.shape}")
    return np.array(array, order="C")


def check_range(name: str, array: Any, low: float, high: float) -> None:
    """Raise ValueError unless all entries of an array lie in a range.

    Parameters
    ----------
    name : str
        Name of the array in the message.
    array : array_like
        Numbers to check; NaN lies in no range.
    low, high : float
        Smallest and largest allowed number.
    """
    values = np.asarray(array)
    if values.size and not (values.min() >= low and values.max() <= high):
        raise ValueError(f"{name} must lie in {low} .. {high}")


def check_indices(name: str, array: NDArray[Any], size: int) -> None:
    """Raise ValueError unless an array has one dimension and contains only valid indices.

    Parameters
    ----------
    name : str
        Name of the array in the message.
    array : NDArray
        Integers to check.
    size : int
        Number of valid indices, which are 0 .. `size` - 1.
    """
    if array.ndim != 1 or array.dtype.kind != "i":
        raise ValueError(
            f"{name} must be integers in one dimension, got {array.dtype} of shape {array.shape}."
        )
    numbers = array.astype(np.int64, copy=False)
    # one comparison instead of two, since a negative number is a large unsigned one
    if numbers.size and numbers.view(np.uint64).max() >= size:
        raise ValueError(f"{name} must lie in 0 .. {size - 1}")


def check_finite(name: str, array: NDArray[Any]) -> None:
    """Raise ValueError, with `name` in the message, unless all entries of `array` are finite."""
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite")


def check_same_size(*arrays: NDArray[Any]) -> None:
    """Raise ValueError unless all `arrays` have the same length."""
    if len({len(array) for array in arrays}) > 1:
        raise ValueError("arrays of one record must have the same length")
