"""Long-term memory of a person, and the workspace files in the prompts."""
