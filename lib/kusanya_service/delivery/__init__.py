"""Webhooks out: schedule, address policy, sending."""
