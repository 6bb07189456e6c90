"""Recovery of runs that their process left without an outcome: at a start, and while hosts run."""
