"""The console's application: its screens, its feed, its palette, and its look."""
