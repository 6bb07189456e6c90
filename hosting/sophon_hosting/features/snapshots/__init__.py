"""Copies of files before tool calls: list, compare, restore and verify them."""
