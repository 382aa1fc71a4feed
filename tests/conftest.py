"""What all tests share."""

from hypothesis import settings

# A first call may compile for seconds, and a busy machine may be slow: neither is a failure.
settings.register_profile("belated", deadline=None)
settings.load_profile("belated")
