"""Usage: tokens and cost by day, limits, turns per day."""
