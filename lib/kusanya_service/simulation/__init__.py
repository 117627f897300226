"""What the simulated world does: networks, faults, the queue of events."""
