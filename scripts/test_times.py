"""Runs one binary of tests and records what it took, for `TEST_TIMES=FILE make test`.

Cargo starts every binary of tests through this script. FILE gets one line a binary and one line a test, separated by
tabs: `binary`, processor seconds with those of its programs, seconds, its name; `test`, seconds, binary, its name. Tests
run side by side, so the seconds of a test are those of a busy machine.
"""

import os
import re
import resource
import subprocess
import sys
import time

program, *arguments = sys.argv[1:]
name = re.sub(r"-[0-9a-f]{16}$", "", os.path.basename(program))
crate = os.path.relpath(os.getcwd(), os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
environment = dict(os.environ)
if os.path.basename(os.path.dirname(program)) == "deps":
    # The only way to have a stable compiler's tests print their times.
    environment["RUSTC_BOOTSTRAP"] = "1"
    arguments += ["-Zunstable-options", "--report-time"]
start = time.monotonic()
child = subprocess.Popen([program, *arguments], env=environment, stdout=subprocess.PIPE)
lines = []
for line in child.stdout:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
    took = re.search(rb"^test (.*) \.\.\. .*<(.*)s>$", line.rstrip())
    if took:
        lines.append(f"test\t{took[2].decode()}\t{crate}:{name}\t{took[1].decode()}")
status = child.wait()
used = resource.getrusage(resource.RUSAGE_CHILDREN)
if lines:
    wall = time.monotonic() - start
    lines.append(f"binary\t{used.ru_utime + used.ru_stime:.1f}\t{wall:.1f}\t{crate}:{name}")
    with open(os.environ["TEST_TIMES"], "a", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
sys.exit(status if status >= 0 else 128 - status)
