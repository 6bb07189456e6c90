"""The pydantic models of the settings sections."""
