"""A value that the host asks for."""


def run(a, b):
    return a * b + a if a[0, 0].item() < 1e9 else a
