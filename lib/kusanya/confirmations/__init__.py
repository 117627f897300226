"""What operators and banks send to a customer who has paid: messages, read into facts.

`read` takes any text that a customer forwards or reads aloud and returns the payments that it
confirms, or says in words why it is no confirmation that we know. One grammar for each issuer
stands in `issuers`. Nothing here knows the store: `kusanya.lookup` compares what was read with
what we know. Source: messages that customers published in public issue threads, and the assumptions
that each grammar names.
"""

from kusanya.confirmations.message import Confirmation, Direction, MessageReading
from kusanya.confirmations.reading import read

__all__ = ["Confirmation", "Direction", "MessageReading", "read"]
