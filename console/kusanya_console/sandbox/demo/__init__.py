"""The demo: embedded service, receiver and seeded traffic as child processes on loopback."""

from typing import Final

STORE: Final = "store.sqlite"
"""The store's file in a demo's folder."""
