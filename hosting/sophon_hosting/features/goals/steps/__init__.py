"""Steps of goals: the runs that work on them, and their texts."""
