"""The commands that open a console: on a store, on the past, on a service, the demo."""
