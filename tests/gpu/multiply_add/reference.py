"""a * b + a."""


def reference(a, b):
    """Return a * b + a."""
    return a * b + a
