#!/usr/bin/env python3
"""Compiles the kernels of the benches as the corpus is compiled: make_ptx.py PATH_TO_LIBNVRTC (12.1)."""
import pathlib
import sys

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parents[1] / "tests"))
import nvrtc
import packed

for path in sorted(here.glob("*.cu")):
    packed.write(path.with_suffix(".ptx"), nvrtc.compile_program(sys.argv[1], path))
