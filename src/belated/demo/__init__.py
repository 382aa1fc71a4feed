"""Simulated clinic for `belated demo`, which sends requests to the service like a real client."""
