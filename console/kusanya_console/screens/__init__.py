"""What every screen uses: the base, help, dialogs, questions. Each screen has its own folder."""
