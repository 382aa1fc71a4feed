"""A simulated clinic, played over HTTP as devices would: to see late feedback come back."""
