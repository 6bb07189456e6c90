"""Composition of `Services`: their arguments are checked, and the parts that the settings configure are created."""
