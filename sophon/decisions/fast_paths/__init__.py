"""Fast paths: requests that a rule answers with one tool call, without a model."""
