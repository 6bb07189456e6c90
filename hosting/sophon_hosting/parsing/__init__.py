"""Parsers of files from outside, each run in a process with limits."""
