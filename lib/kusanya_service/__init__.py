"""The payment collection service itself: every row of the specification, embedded.

Shares with `kusanya` only wire, limits, assumptions, clock and the webhook signature and schedule,
so that the service and the library can each be checked against the other.
"""
