"""Memory and preferences: what is remembered of a person, put in front of the model."""
