#!/usr/bin/env python3
"""Asks the assembler about every form of every instruction that computes, and about a list of other statements.

    ask_ptxas.py EXAMPLE PTXAS

EXAMPLE is the built example `instructions` of simt. What the simulator takes, ptxas must take; what the simulator says is no
PTX, ptxas must refuse. Prints how many agree, and ends with 1 if any does not."""
import pathlib
import re
import subprocess
import sys
import tempfile


def refused(ptxas, file):
    """The statements of a file that ptxas refuses, and all of them."""
    lines = file.read_text().splitlines()
    # Each statement is on the line before the one that computes the address of its result.
    statements = {at: lines[at - 1] for at, line in enumerate(lines) if line.startswith("ld.param.u64 %base, [d]")}
    words = subprocess.run([ptxas, "-arch=sm_90", file, "-o", "/dev/null"], capture_output=True, text=True).stderr
    bad = {int(line) for line in re.findall(r", line (\d+); error", words)}
    return [text for at, text in statements.items() if at in bad], list(statements.values())


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    subprocess.run([sys.argv[1], folder], check=True)
    wrong, all_forms = refused(sys.argv[2], folder / "forms.ptx")
    right, all_invalid = refused(sys.argv[2], folder / "invalid.ptx")
    judged = [line.split("\t", 1) for line in (folder / "others.txt").read_text().splitlines()]
    agree, strict, loose = 0, [], []
    for number, (outcome, line) in enumerate(judged):
        mark, statement = line.split(" ", 1)
        file = folder / f"others/{number}.ptx"
        accepts = not subprocess.run([sys.argv[2], "-arch=sm_90a", file, "-o", "/dev/null"], capture_output=True).returncode
        if accepts != (mark == "+"):
            print(f"others.txt marks this otherwise than ptxas: {statement}")
        agree += accepts == (outcome != "no PTX")
        strict += [statement] * (accepts and outcome == "no PTX")
        loose += [f"{outcome}: {statement}"] * (not accepts and outcome != "no PTX")
print(f"of {len(all_forms)} forms that the simulator takes, ptxas takes {len(all_forms) - len(wrong)}")
print(*wrong[:20], sep="\n")
taken = sorted(set(all_invalid) - set(right))
print(f"of {len(all_invalid)} statements that the simulator calls no PTX, ptxas refuses {len(right)}")
print(*taken[:20], sep="\n")
print(f"of {len(judged)} other statements, {agree} are judged alike; called no PTX though ptxas takes them:")
print(*strict, sep="\n")
print("not called no PTX though ptxas refuses them:")
print(*loose, sep="\n")
sys.exit(bool(wrong or taken or strict))
