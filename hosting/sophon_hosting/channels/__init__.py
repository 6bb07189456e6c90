"""Channels in a host: people write from a platform, and answers, questions and progress go back there."""
