"""Rules of schedules: when they are due, what becomes of times that were missed, and how they are said in words."""
