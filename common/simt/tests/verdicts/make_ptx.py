#!/usr/bin/env python3
"""Compiles the kernels of this folder: make_ptx.py PATH_TO_LIBNVRTC (NVRTC 12.1)."""
import pathlib
import re
import sys

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent))
import nvrtc
import packed

for path in sorted(here.glob("*.cu")):
    ptx = nvrtc.compile(sys.argv[1], path, "--std=c++17", f"--include-path={here}")
    # Drop the compiler's comments and blank lines.
    lines = [line for line in ptx.split("\n") if line and not line.startswith("//")]
    packed.write(path.with_suffix(".ptx"), "\n".join(lines) + "\n")
