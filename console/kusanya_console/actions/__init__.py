"""What a person can do from the console: the commands' effects, their audit, their results."""
