"""Code shared by several commands, or too long to stand beside a command."""
