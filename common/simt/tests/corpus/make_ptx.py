#!/usr/bin/env python3
"""Compiles pass/*.cu and fail/*.cu into pass.ptx.gz and fail.ptx.gz, and so ../products and common/tests/mistakes:
make_ptx.py PATH_TO_LIBNVRTC [INCLUDE_FOLDER ...] (NVRTC 12.1). The headers that the products include come with the packages
nvidia-cuda-runtime-cu12 and nvidia-cuda-nvcc-cu12; without them the products stay as they are.

Each program of these files begins after a line `//// NAME`, with a line on its launch. Programs that are written by hand are files
of their own, beside the sources of the others."""
import pathlib
import sys

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent))
import nvrtc
import packed


includes = [f"-I{folder}" for folder in sys.argv[2:]]
folders = [here / "pass", here / "fail", here.parents[2] / "tests/mistakes"] + [here.parent / "products"] * bool(includes)
for folder in folders:
    programs = {path.stem: nvrtc.compile_program(sys.argv[1], path, *includes) for path in folder.glob("*.cu")}
    packed.write(folder.with_suffix(".ptx"), "".join(f"//// {name}\n{programs[name]}" for name in sorted(programs)))
