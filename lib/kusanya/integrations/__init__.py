"""Frameworks that want more than a few lines, each in a package that nothing else uses."""
