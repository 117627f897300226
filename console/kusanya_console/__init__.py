"""The operations console and the `kusanya` command."""
