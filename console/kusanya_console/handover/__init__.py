"""The hand-over of a shift."""
