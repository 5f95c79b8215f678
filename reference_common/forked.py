"""What a worker's process was forked from (`fork_server.py`)."""

from __future__ import annotations

# What the server imported, and how long each took; {}: this process was not forked.
import_ns: dict[str, int] = {}
# When the server got the request for this process, by the clock of `timing`.
requested_ns = 0
