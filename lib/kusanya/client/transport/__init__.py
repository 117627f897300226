"""What puts bytes on the wire: where to, by when, and on which connections."""
