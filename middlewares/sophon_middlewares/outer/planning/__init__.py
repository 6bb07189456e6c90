"""Planning and its parts: plan creation, approval, execution, synthesis, and their state."""
