"""Collections against ledger and statement."""
