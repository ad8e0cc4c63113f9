#!/usr/bin/env python3
"""Compiles the kernels of the benches as the corpus is compiled: make_ptx.py PATH_TO_LIBNVRTC (12.1)."""
import pathlib
import sys

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parents[1] / "tests"))
import nvrtc

for path in sorted(here.glob("*.cu")):
    path.with_suffix(".ptx").write_text(nvrtc.compile_program(sys.argv[1], path), encoding="utf-8")
