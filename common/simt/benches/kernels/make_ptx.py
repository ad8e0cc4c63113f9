#!/usr/bin/env python3
"""Compiles the kernels of the benches as the corpus is compiled: make_ptx.py PATH_TO_LIBNVRTC (12.1)."""
import pathlib
import subprocess
import sys

here = pathlib.Path(__file__).resolve().parent
script = here.parents[1] / "tests/corpus/make_ptx.py"
sys.exit(subprocess.call([sys.executable, script, sys.argv[1], here]))
