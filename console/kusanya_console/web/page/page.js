// The spent token leaves the address bar, and with it the history.
history.replaceState(null, "", "/");
