"""The commands of the embedded service: serve it, manage it, show it all in a demo."""
