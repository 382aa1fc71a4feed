"""Simulated clinic that uses the service as devices would, run by `belated demo`."""
