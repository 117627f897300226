"""What several screens show of one collection: cards, detail, evidence."""
