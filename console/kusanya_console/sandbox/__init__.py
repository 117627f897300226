"""All that only the embedded service needs: its screen, its dashboard's client, its commands."""
