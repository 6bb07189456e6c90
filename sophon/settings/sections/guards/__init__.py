"""Settings sections of the guards, one module for each guard."""
