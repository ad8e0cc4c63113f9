"""Compiles CUDA C to PTX with a given libnvrtc; the committed PTX is made by a pinned one (12.1)."""
import ctypes
import re
import sys


def compile(library, path, *options):
    """The PTX of the file at `path` for compute capability 8.0, or for 9.0a if it uses products of four warps or bulk copies.
    If it does not compile, the program ends with NVRTC's message."""
    nvrtc = ctypes.CDLL(library)
    ninety = any(word in path.read_bytes() for word in (b"wgmma.mma_async", b"cp.async.bulk"))
    architecture = "90a" if ninety else "80"
    options = [option.encode() for option in (f"--gpu-architecture=compute_{architecture}", *options)]
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


def compile_program(library, path, *options):
    """The PTX of a whole program with line information. It begins with the source's first line if that says how to launch it."""
    ptx = compile(library, path, "-lineinfo", "--std=c++17", *options)
    # NVRTC writes the folder of the source into the PTX; without it, the text is the same on every machine.
    ptx = re.sub(r'(\.file\s+\d+\s+")[^"]*/([^"/]+")', r"\1\2", ptx)
    # Calls are numbered over all programs that the process compiles; 0 makes the text independent of their order.
    ptx = re.sub(r"callseq \d+", "callseq 0", ptx)
    # Module-wide constants of the compiler that no kernel of ours uses.
    ptx = "\n".join(line for line in ptx.split("\n") if "2nv6target" not in line)
    launch = path.read_text(encoding="utf-8").splitlines()[0]
    return (f"{launch}\n" if launch.startswith("// launch") else "") + ptx
