"""Secrets in texts: their forms, search by form and by value, and replacement by a marker."""
