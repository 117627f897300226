"""The columns of every frame, by what the frame is about."""
