#!/usr/bin/env python3
"""Compiles pattern.cu and copy.cu to the PTX files of this folder: make_ptx.py PATH_TO_LIBNVRTC.

The simulator and the GPU must run the same PTX, so it is committed, made by a pinned NVRTC (12.1)."""
import pathlib
import sys

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent))
import nvrtc


def compile(source, name, *options):
    (here / f"{name}.ptx").write_text(nvrtc.compile(sys.argv[1], here / source, *options))


for op, name in enumerate(["global_load", "global_store", "shared_load", "shared_store"]):
    for width in (1, 2, 4):
        compile("pattern.cu", f"{name}{32 * width}", f"-DOP={op}", f"-DWIDTH={width}")
for width in (1, 2, 4):
    compile("copy.cu", f"copy{32 * width}", f"-DWIDTH={width}")
compile("copy.cu", "copy128_bypass", "-DWIDTH=4", '-DLEVEL="cg"')
compile("copy.cu", "copy128_bypass_p0", "-DWIDTH=4", '-DLEVEL="cg"', "-DALONE")
