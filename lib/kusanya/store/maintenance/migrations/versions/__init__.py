"""One module per revision, never changed once released.

Each says with `additive` whether programs of the revision before go on working with it.
"""
