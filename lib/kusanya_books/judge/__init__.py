"""What the month means: fees, failures, tariffs, findings, the report."""
