"""The classes of the settings sections."""
