"""Outcomes of orders: told, and handed out to those who act on them."""

from kusanya.store.queries.outcomes.telling import Outcomes

__all__ = ["Outcomes"]
