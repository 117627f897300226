"""The service's own storage: SQLite, durable on every answer."""
