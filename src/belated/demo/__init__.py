"""Simulated clinic for `belated demo`. It sends requests to the service as devices would."""
