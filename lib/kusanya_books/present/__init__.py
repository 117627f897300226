"""What a notebook shows: views, charts, the timeline of one collection."""
