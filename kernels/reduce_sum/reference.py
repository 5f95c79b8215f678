"""The sum of all elements."""


def reference(x):
    """Return the sum of x, an array of one dimension, as a tensor without dimensions."""
    return x.sum()


jax_reference = reference


def scale(x):
    """Errors are relative to the norm of x: elements of both signs may cancel, so the sum may be 0."""
    return x.norm()
