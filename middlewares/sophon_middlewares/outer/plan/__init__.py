"""What Planning is made of: making a plan, asking about it, running it, summing it up."""
