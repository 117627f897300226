"""What every command that keeps running needs: signals, the terminal, its parent, logs, alarms."""
