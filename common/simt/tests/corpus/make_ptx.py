#!/usr/bin/env python3
"""Compiles every .cu of the corpus to the PTX beside it: make_ptx.py PATH_TO_LIBNVRTC [FOLDER] (NVRTC 12.1).

The corpus' programs begin with a line on their launch, which the PTX repeats."""
import pathlib
import re
import sys

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent))
import nvrtc

if len(sys.argv) > 2:
    here = pathlib.Path(sys.argv[2])
for path in sorted(here.glob("**/*.cu")):
    ptx = nvrtc.compile(sys.argv[1], path, "-lineinfo", "--std=c++17")
    # NVRTC names the source by the folder it ran in; the same text must come out everywhere.
    ptx = re.sub(r'(\.file\s+\d+\s+")[^"]*/([^"/]+")', r"\1\2", ptx)
    # Module-wide constants of the compiler that no kernel of ours uses.
    ptx = "\n".join(line for line in ptx.split("\n") if "2nv6target" not in line)
    launch = path.read_text(encoding="utf-8").splitlines()[0]
    head = f"{launch}\n" if launch.startswith("// launch") else ""
    path.with_suffix(".ptx").write_text(head + ptx, encoding="utf-8")
