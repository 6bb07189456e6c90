"""Rules of goals, plans that live for days: task graph, state machine, budgets, stability; pure, on frozen values."""
