"""What a close is asked and given: its days, tolerances, what it must prove, what was read."""
