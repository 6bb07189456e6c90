"""Classification of messages, scoring of answers, and what routing learns from both."""
