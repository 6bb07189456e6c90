"""Times of rate-limited events: what the sliding windows of the next process start with."""
