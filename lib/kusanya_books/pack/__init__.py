"""What is written out: the month-end pack and its summary."""
