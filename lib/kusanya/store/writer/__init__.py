"""How observations become durable: journal, batch, projection."""
