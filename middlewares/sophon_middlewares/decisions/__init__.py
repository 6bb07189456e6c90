"""The decision layer: rules that answer or direct a message before any model."""
