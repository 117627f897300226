"""What the library says about its work: logs, metrics and traces."""
