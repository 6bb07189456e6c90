"""Goal engine: a host's work on goals; steps as runs, planner and critic, limits per user, reports and notices."""
