"""Approvals of tool calls, and approvals in advance (grants)."""
