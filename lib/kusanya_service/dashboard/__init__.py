"""The merchant dashboard over HTTP: keys, endpoints, deliveries, clock, faults.

What the specification says is done "in the dashboard" is done here, with a bearer token of its own.
Nothing of it is part of /v1. Lists answer {"data": [...]}.
"""
