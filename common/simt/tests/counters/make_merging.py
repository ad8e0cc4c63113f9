#!/usr/bin/env python3
"""Writes into merging.txt what the assembler makes of each kernel's accesses: make_merging.py PATH_TO_PTXAS PATH_TO_NVDISASM.

It assembles for compute capability 9.0, and so does the rule in `ptx/src/lower/merging.rs`, which must come to the same."""
import pathlib
import re
import subprocess
import sys
import tempfile

ptxas, nvdisasm = sys.argv[1:]
path = pathlib.Path(__file__).resolve().parent / "merging.txt"
head, program, *kernels = path.read_text().split("\n//// ")


def accesses(text):
    """The loads and stores of shared memory, with their widths, in the machine code that the assembler makes of a kernel."""
    lines = text.splitlines(keepends=True)
    declarations = "".join(line for line in lines if line.startswith(".")) or ".shared .align 4 .b8 s[16384];\n"
    body = "".join(line for line in lines if not line.startswith("."))
    ptx = program.partition("\n")[2].replace("DECLARATIONS\n", declarations).replace("BODY\n", body)
    with tempfile.TemporaryDirectory() as folder:
        source, made = pathlib.Path(folder) / "kernel.ptx", pathlib.Path(folder) / "kernel.cubin"
        source.write_text(ptx)
        subprocess.run([ptxas, "-arch=sm_90", source, "-o", made], check=True)
        listing = subprocess.run([nvdisasm, "-c", made], check=True, capture_output=True, text=True).stdout
    return sorted(re.findall(r"\b(?:LDS|STS)\b[.A-Z0-9]*", listing))


for number, kernel in enumerate(kernels):
    title, _, text = kernel.partition("\n")
    name = title.split(" = ")[0]
    kernels[number] = f"{name} = {' '.join(accesses(text))}\n{text}"
path.write_text("\n//// ".join([head, program, *kernels]))
