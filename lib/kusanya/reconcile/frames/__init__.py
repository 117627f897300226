"""What every room stands on: frames and their columns, days, the engine, prices, tolerances."""
