#!/usr/bin/env python3
"""Compiles pattern.cu and copy.cu to pattern.ptx.gz and copy.ptx.gz: make_ptx.py PATH_TO_LIBNVRTC.

Each holds several kernels, which begin after a line `//// NAME`. The simulator and the GPU must run the same PTX, so it is
committed, made by a pinned NVRTC (12.1)."""
import pathlib
import sys

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent))
import nvrtc
import packed


kernels = {"pattern": "", "copy": ""}


def compile(source, name, *options):
    kernels[source] += f"//// {name}.ptx\n{nvrtc.compile(sys.argv[1], here / f'{source}.cu', *options)}"


for op, name in enumerate(["global_load", "global_store", "shared_load", "shared_store"]):
    for width in (1, 2, 4):
        compile("pattern", f"{name}{32 * width}", f"-DOP={op}", f"-DWIDTH={width}")
for width in (1, 2, 4):
    compile("copy", f"copy{32 * width}", f"-DWIDTH={width}")
compile("copy", "copy128_bypass", "-DWIDTH=4", '-DLEVEL="cg"')
compile("copy", "copy128_bypass_p0", "-DWIDTH=4", '-DLEVEL="cg"', "-DALONE")
for name, text in kernels.items():
    packed.write(here / f"{name}.ptx", text)
