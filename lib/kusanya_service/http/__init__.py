"""The specification's door: authentication, idempotency, requests, answers."""
