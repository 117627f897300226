"""The tables, their values and the connections to them."""
