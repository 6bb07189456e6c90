"""Dangerous settings: values that are valid and permit more than most people want; `doctor` and the start report them.

Nothing here refuses to start: each value has a legitimate use, and whoever sets it should know what it permits.
"""
