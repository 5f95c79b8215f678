"""Find what makes a test depend on how busy the machine is: sleeps, clocks, and short time-outs.

A test that has them either waits for a minute or more, or gives a reason, on the same line or the one
above: `# mood: why a busy machine cannot make this fail`, in C `/* mood: … */`.
"""

import re
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

NUMBER = r"(?P<number>[\d.][\d_.]*(?:e\d+)?)"
UNIT = r"(?P<unit>ns|us|ms|s|m|h)?"
EXPECTED = "expected a constant of a minute or more, or a reason: # mood: …"
LEAST_S = 60
UNITS_S = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}
READINGS = r"monotonic|perf_counter|process_time|clock_gettime|time\.time|getrusage|gettimeofday"
# What takes a reason, unless a number in it is a minute or more; of what unit a bare number is.
PATTERNS = [
    (re.compile(pattern), unit)
    for pattern, unit in (
        (rf"\bsleep\((?:{NUMBER}\))?", "s"),
        (rf"\bsleep {NUMBER}", "s"),  # of a shell
        (r"\b(?:nanosleep|usleep)\(|\bclock_sleep_ns\([1-9]|\bpoll\(NULL, 0, [1-9]", ""),
        (rf"(?<!deadline - time\.)\b(?:{READINGS})(?:_ns)?\b(?!\(\) \+ \w*TIMEOUT_S\b)", ""),
        (r"(?<![\w.])clock\(\)", ""),
        (rf"(?i:timeout)(?:_s|_S)?\s*=\s*{NUMBER}{UNIT}", "s"),
        (rf"\b(?:ANSWER|PATIENCE|HASTE|SHORT)_S = {NUMBER}", "s"),
        (rf"--(?:timeout|budget)(?:[ =]|\",\s*\"){NUMBER}{UNIT}", "s"),
        (rf"\.(?:wait|join)\({NUMBER}\)", "s"),
        (rf"\balarm\({NUMBER}\)", "s"),
        (rf"\bpoll\([^()]*, {NUMBER}\)", "ms"),
        (r"\[\"trust\"\] == \"audited\"", ""),  # a busy machine disturbs audits
    )
]
REASON = re.compile(r"\bmood: \S")
# Programs that measure; inputs of fuzzing; contenders that cheat, with their tests' own tries.
LEFT_OUT = ("tools/", "fuzz/corpus/", "cheats/", "fixtures/problems/")


def is_long(match: re.Match[str], unit: str) -> bool:
    """Whether it waits for a minute or more; 0 is not to wait at all."""
    found = match.groupdict()
    if not found.get("number"):
        return False
    number = float(found["number"].replace("_", ""))
    return number == 0 or number * UNITS_S[found.get("unit") or unit] >= LEAST_S


def hits(text: str) -> Iterator[tuple[int, str]]:
    """Yield the number of a line without a reason, and what it has."""
    above = ""
    for number, line in enumerate(text.splitlines(), 1):
        if not REASON.search(line) and not REASON.search(above):
            short = (
                match.group().strip()
                for pattern, unit in PATTERNS
                for match in pattern.finditer(line)
                if not is_long(match, unit)
            )
            yield from ((number, what) for what in islice(short, 1))
        above = line


def sources(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder).as_posix()
        if path.suffix in {".py", ".c", ".h"} and not place.startswith(LEFT_OUT):
            yield path


def main(folder: Path) -> int:
    found = 0
    for path in sources(folder):
        for number, what in hits(path.read_text(encoding="utf-8")):
            found += 1
            print(f"{path}:{number}: {what}: {EXPECTED}")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "tests")))
