"""The checks of `sophon doctor` and their findings."""
