"""The commands of finance: reconcile, gap, breaks, journals, mapping, notebooks."""
