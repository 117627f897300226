"""The console's application: its windows, its feed, its palette, and its look."""
