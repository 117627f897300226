"""The SQL of the reconciliation and the engine that runs it."""
