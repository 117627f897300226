"""How each channel is doing now: for a checkout that offers them, and for the alarms.

`now` reads what the store has learned of payments lately: how many end without money, and which
prompts hang. It asks nobody.
"""

from kusanya.channels.present import ChannelNow, ChannelState, now

__all__ = ["ChannelNow", "ChannelState", "now"]
