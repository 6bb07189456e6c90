"""Evaluation of scripts without running them: expanded words, and the texts that flow between commands."""
