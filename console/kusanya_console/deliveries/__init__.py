"""The Deliveries screen: every delivery received, and the attempts behind it."""
