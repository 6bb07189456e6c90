"""What routing has learned: trajectories of turns, averages of models."""
