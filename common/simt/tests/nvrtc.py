"""Compiles CUDA C to PTX with a given libnvrtc; the committed PTX is made by a pinned one (12.1)."""
import ctypes
import sys


def compile(library, path, *options):
    """The PTX of the file at `path` for compute capability 8.0; ends the program with NVRTC's words where it does not compile."""
    nvrtc = ctypes.CDLL(library)
    options = [option.encode() for option in ("--gpu-architecture=compute_80", *options)]
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), path.read_bytes(), path.name.encode(), 0, None, None)
    status = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    size = ctypes.c_size_t()
    if status:
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        sys.exit(f"{path}\n{log.value.decode()}")
    nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetPTX(program, text)
    return text.value.decode()
