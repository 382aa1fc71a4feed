"""Attacks on a running service, each of which must not succeed; see `attack.py`."""
