#!/usr/bin/env python3
"""Compiles pass/*.cu and fail/*.cu into pass.ptx and fail.ptx: make_ptx.py PATH_TO_LIBNVRTC (NVRTC 12.1).

Each program of these files begins after a line `//// NAME`, with a line on its launch. Programs that have no .cu are written by
hand and stay as they are."""
import pathlib
import re
import sys

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent))
import nvrtc


for part in ("pass", "fail"):
    file = here / f"{part}.ptx"
    programs = dict(re.findall(r"^//// (\S+)\n((?:(?!//// ).*\n)*)", file.read_text(encoding="utf-8"), re.MULTILINE))
    programs.update((path.stem, nvrtc.compile_program(sys.argv[1], path)) for path in (here / part).glob("*.cu"))
    file.write_text("".join(f"//// {name}\n{programs[name]}" for name in sorted(programs)), encoding="utf-8")
