"""What a text can mean: one module for each way of reading it, and their order in `finding`."""
