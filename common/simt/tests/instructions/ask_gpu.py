#!/usr/bin/env python3
"""Asks a GPU about every form of every instruction that computes, and compares with the simulator bit for bit.

    ask_gpu.py EXAMPLE [--out FILE] [--record RESULTS]

EXAMPLE is the built example `instructions` of simt (`cargo build --release -p simt-gpu --example instructions`). Needs a GPU of
compute capability 9.0 or newer and its driver, nothing else. Prints the forms that differ, with the operands of the first
difference; those whose result is an approximation with their largest distance in units of the last place. NaNs of half and
double precision count as equal, because the manual leaves their bits open. Ends with 1 if an exact form differs.

RESULTS is `results.txt.gz`, the record of the test. With it, each line whose results this GPU gave as well is marked with the GPU's
name and the day; a line that it contradicts loses its mark. This is the only way to a mark."""
import argparse
import ctypes
import datetime
import gzip
import pathlib
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import real_gpu

COUNT = 1024

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("example")
parser.add_argument("--out", help="also write a line for each form: name, how many results differ, largest distance")
parser.add_argument("--record", type=pathlib.Path, help="mark in this record what the GPU gave as well")
options = parser.parse_args()
try:
    cuda = ctypes.CDLL("libcuda.so.1")
except OSError:
    sys.exit("this machine has no NVIDIA driver; run this where there is a GPU")


def call(name, *arguments):
    status = getattr(cuda, name)(*arguments)
    if status:
        words = ctypes.c_char_p()
        cuda.cuGetErrorString(status, ctypes.byref(words))
        sys.exit(f"{name}: {(words.value or b'error').decode()}")


def is_nan(bits, kind):
    infinity = {"f16": 0x7C00, "bf16": 0x7F80, "f64": 0x7FF << 52}.get(kind)
    sign = 1 << 63 if kind == "f64" else 1 << 15
    return infinity is not None and bits & (sign - 1) > infinity


def distance(found, expected, kind):
    """How many numbers of the type the two are apart, or None if they count as equal."""
    if kind in ("f16x2", "bf16x2"):
        parts = [distance(found >> by & 0xFFFF, expected >> by & 0xFFFF, kind[:-2]) for by in (0, 16)]
        return max((part for part in parts if part is not None), default=None)
    if found == expected or is_nan(found, kind) and is_nan(expected, kind):
        return None
    sign = {"f16": 15, "bf16": 15, "f32": 31}.get(kind, 63)
    place = lambda bits: -(bits & ((1 << sign) - 1)) if bits >> sign & 1 else bits
    return abs(place(found) - place(expected)) if kind.startswith(("f", "bf")) else 1


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    subprocess.run([options.example, folder], check=True)
    ptx, values = (folder / "forms.ptx").read_bytes(), (folder / "values.bin").read_bytes()
    forms = [line.split("\t") for line in (folder / "forms.txt").read_text().splitlines()]

device, context, module = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
call("cuInit", 0)
call("cuDeviceGet", ctypes.byref(device), 0)
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
call("cuCtxSetCurrent", context)
call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(ptx))
memory, result = ctypes.c_uint64(), ctypes.c_uint64()
call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(len(values)))
call("cuMemAlloc_v2", ctypes.byref(result), ctypes.c_size_t(8 * COUNT))
call("cuMemcpyHtoD_v2", memory, values, ctypes.c_size_t(len(values)))
numbers = lambda place: struct.unpack_from(f"<{COUNT}Q", values, 8 * COUNT * place)
lines, failed, agreed = [], 0, {}
for name, statement, kind, places, *recorded in forms:
    *operands, expected = map(int, places.split())
    function = ctypes.c_void_p()
    call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
    addresses = [result.value] + [memory.value + 8 * COUNT * place for place in operands]
    addresses += [memory.value] * (5 - len(addresses))
    arguments = [ctypes.c_uint64(address) for address in addresses]
    pointers = (ctypes.c_void_p * 5)(*(ctypes.addressof(argument) for argument in arguments))
    call("cuLaunchKernel", function, COUNT // 128, 1, 1, 128, 1, 1, 0, None, pointers, None)
    found = (ctypes.c_uint64 * COUNT)()
    call("cuMemcpyDtoH_v2", found, result, ctypes.c_size_t(8 * COUNT))
    far = [distance(one, other, kind) for one, other in zip(found, numbers(expected))]
    differ = [index for index, by in enumerate(far) if by is not None]
    most = max((far[index] for index in differ), default=0)
    approximate = ".approx" in statement or ".full" in statement
    lines.append(f"{name}\t{len(differ)}\t{most}\t{'approximate' if approximate else 'exact'}")
    if not differ:
        agreed["\t".join(recorded)] = ""
    elif approximate:
        agreed["\t".join(recorded)] = f", within {most}"
    if differ:
        at = differ[0]
        given = " ".join(hex(numbers(place)[at]) for place in operands)
        print(f"{statement}  {len(differ)} differ, most by {most}; of {given}: GPU {found[at]:#x}, "
              f"simulator {numbers(expected)[at]:#x}")
        failed += not approximate
if options.out:
    pathlib.Path(options.out).write_text("\n".join(lines) + "\n")
if options.record:
    real_gpu.refuse_others()
    words = ctypes.create_string_buffer(100)
    call("cuDeviceGetName", words, 100, device)
    mark = f"\t{words.value.decode()}, {datetime.date.today()}"
    asked = {"\t".join(recorded) for *_, key, hashes in forms for recorded in [(key, hashes)]}
    marked = 0
    text = []
    for line in gzip.decompress(options.record.read_bytes()).decode().splitlines():
        entry = line.split("\tNVIDIA ")[0]
        # A result that the simulator does not compute any more was not asked about, and keeps what was said of it.
        line = line if entry not in asked else entry + mark + agreed[entry] if entry in agreed else entry
        marked += "\tNVIDIA " in line
        text.append(line + "\n")
    options.record.write_bytes(gzip.compress("".join(text).encode(), 9, mtime=0))
    print(f"{options.record}: {marked} of {sum(not line.startswith('#') for line in text)} results are marked")
print(f"{len(forms)} forms, {failed} exact ones differ")
sys.exit(failed > 0)
