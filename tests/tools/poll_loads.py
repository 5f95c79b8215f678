"""Whether the loads of a poll are under way together: reads the machine code of a cubin.

    nvcc -arch=sm_90a -cubin -o rung.cubin … && tests/tools/poll_loads.py rung.cubin

For each loop with several relaxed loads, prints how often it waits for one of them before it
issues another. Compilers may put a check between two loads, which then are as many trips to the L2,
one after the other. Needs cuobjdump.
"""

import re
import subprocess
import sys
from typing import NamedTuple

LONGEST_LOOP = 0x900
INSTRUCTION = re.compile(r"\s+/\*([0-9a-f]{4,})\*/\s+(.*?);")
CONTROL = re.compile(r"\s+/\* 0x([0-9a-f]{16}) \*/")
BACK = re.compile(r"BRA (?:P\d+, )?0x([0-9a-f]+)")


class Instruction(NamedTuple):
    at: int
    text: str
    sets: int
    """The scoreboard that its result will release; 7: none."""
    waits: int
    """A bit for each scoreboard that it waits for."""

    def polls(self) -> bool:
        return "LDG" in self.text and "STRONG" in self.text


class Poll(NamedTuple):
    function: str
    at: int
    loads: int
    waits: int


def functions(cubin: str) -> dict[str, list[Instruction]]:
    """Return the instructions of each function, with the control bits of their second words."""
    listing = subprocess.run(
        ["cuobjdump", "-sass", cubin], capture_output=True, text=True, check=True
    ).stdout
    found: dict[str, list[Instruction]] = {}
    name, first = "", None
    for line in listing.splitlines():
        if "Function : " in line:
            name = line.split(":")[1].strip()
            found[name] = []
        elif match := INSTRUCTION.match(line):
            first = int(match[1], 16), match[2]
        elif first is not None and (match := CONTROL.match(line)):
            control = int(match[1], 16) >> 41
            found[name].append(Instruction(*first, control >> 5 & 7, control >> 11 & 63))
            first = None
    return found


def waits_before_last(loop: list[Instruction]) -> int:
    """Return how often a loop waits for a poll's load before it issues another."""
    last = max(i for i, instruction in enumerate(loop) if instruction.polls())
    pending = waits = 0
    for instruction in loop[: last + 1]:
        if instruction.waits & pending:
            waits += 1
            pending &= ~instruction.waits
        if instruction.polls():
            pending |= 1 << instruction.sets
    return waits


def polls(cubin: str) -> list[Poll]:
    found = []
    for name, code in functions(cubin).items():
        place = {instruction.at: i for i, instruction in enumerate(code)}
        for i, instruction in enumerate(code):
            back = BACK.search(instruction.text)
            start = int(back[1], 16) if back else instruction.at + 1
            if start > instruction.at or instruction.at - start > LONGEST_LOOP:
                continue
            loop = code[place[start] : i + 1]
            loads = sum(each.polls() for each in loop)
            if loads > 1:
                found.append(Poll(name, start, loads, waits_before_last(loop)))
    return found


def main() -> int:
    found = [poll for cubin in sys.argv[1:] for poll in polls(cubin)]
    for poll in found:
        print(f"{poll.function} {poll.at:#x}: {poll.loads} loads, {poll.waits} waits between them")
    return int(any(poll.waits for poll in found))


if __name__ == "__main__":
    sys.exit(main())
