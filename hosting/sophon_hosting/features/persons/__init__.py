"""Export and deletion of everything that is kept of a person."""
