"""What a turn consists of above the core: its options, agent and permissions, its log, and what it has read."""
