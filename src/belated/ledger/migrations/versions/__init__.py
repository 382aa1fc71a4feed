"""Migrations of the tables; the name of a module begins with its version."""
