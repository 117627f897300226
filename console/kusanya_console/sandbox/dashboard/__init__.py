"""The service's dashboard, read over its HTTP interface."""
