"""Helper modules of the commands: shared code, and long code moved out of a command's module."""
