"""Approval and its parts: announced requests, standing grants, and calls whose effect outlasts the turn."""
