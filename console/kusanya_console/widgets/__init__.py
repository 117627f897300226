"""What the screens are made of; widgets draw frozen values and know no store."""
