#!/usr/bin/env python3
"""Compiles pattern.cu and copy.cu to the PTX files of this folder: make_ptx.py PATH_TO_LIBNVRTC.

The simulator and the GPU must run the same PTX, so it is committed, made by a pinned NVRTC (12.1)."""
import ctypes
import pathlib
import sys

here = pathlib.Path(__file__).resolve().parent
nvrtc = ctypes.CDLL(sys.argv[1])


def compile(source, name, *options):
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), (here / source).read_bytes(), source.encode(), 0, None, None)
    options = ["--gpu-architecture=compute_80", *options]
    array = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
    status = nvrtc.nvrtcCompileProgram(program, len(options), array)
    size = ctypes.c_size_t()
    if status:
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        sys.exit(log.value.decode())
    nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetPTX(program, text)
    (here / f"{name}.ptx").write_text(text.value.decode())


for op, name in enumerate(["global_load", "global_store", "shared_load", "shared_store"]):
    for width in (1, 2, 4):
        compile("pattern.cu", f"{name}{32 * width}", f"-DOP={op}", f"-DWIDTH={width}")
for width in (1, 2, 4):
    compile("copy.cu", f"copy{32 * width}", f"-DWIDTH={width}")
compile("copy.cu", "copy128_bypass", "-DWIDTH=4", '-DLEVEL="cg"')
compile("copy.cu", "copy128_bypass_p0", "-DWIDTH=4", '-DLEVEL="cg"', "-DALONE")
