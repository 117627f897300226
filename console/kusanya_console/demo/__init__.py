"""The demo: embedded service, receiver and seeded traffic as child processes on loopback."""
