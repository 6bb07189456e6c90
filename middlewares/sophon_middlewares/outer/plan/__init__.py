"""Parts of Planning: plan creation, approval, execution, synthesis, and their state."""
