"""A seeded month without a store, with and without faults."""
