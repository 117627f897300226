"""What all of `reconcile` uses: frames and their columns, days, the engines, prices, tolerances."""
