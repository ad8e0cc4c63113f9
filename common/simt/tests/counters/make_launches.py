#!/usr/bin/env python3
"""Writes launches.json: every access pattern whose counts are recorded on hardware. Deterministic."""
import json
import pathlib
import random

here = pathlib.Path(__file__).resolve().parent
random.seed(20250101)
lanes = range(32)
SPACE = 2048  # words of shared memory; patterns of wider accesses stay below SPACE / width

patterns = {}
for stride in range(0, 34):
    patterns[f"stride {stride}"] = [lane * stride for lane in lanes]
for offset in (1, 2, 3, 5, 7, 9, 31):
    patterns[f"offset {offset}"] = [lane + offset for lane in lanes]
for count in (1, 3, 8, 15, 16, 17, 31):
    patterns[f"first {count} lanes"] = [lane if lane < count else -1 for lane in lanes]
patterns["no lane"] = [-1] * 32
patterns["odd lanes"] = [lane if lane % 2 else -1 for lane in lanes]
patterns["last quarter"] = [lane if lane >= 24 else -1 for lane in lanes]
patterns["one lane of each half"] = [lane * 32 if lane in (3, 21) else -1 for lane in lanes]
patterns["reversed"] = [31 - lane for lane in lanes]
patterns["pairs share"] = [lane // 2 for lane in lanes]
patterns["fours share"] = [lane // 4 for lane in lanes]
patterns["eights share"] = [lane // 8 for lane in lanes]
patterns["halves share"] = [lane // 16 for lane in lanes]
patterns["half-warps alike"] = [lane % 16 for lane in lanes]
patterns["quarter-warps alike"] = [lane % 8 for lane in lanes]
patterns["fours alike"] = [lane % 4 for lane in lanes]
patterns["pairs alike"] = [lane % 2 for lane in lanes]
patterns["4 by 8"] = [(lane // 8) * 32 + lane % 8 for lane in lanes]
patterns["8 by 4"] = [(lane // 4) * 32 + lane % 4 for lane in lanes]
patterns["rows of 8, broadcast in fours"] = [(lane // 4) * 8 for lane in lanes]
patterns["columns of 4, broadcast by eights"] = [(lane % 4) * 8 for lane in lanes]
patterns["quarters swapped"] = [(lane ^ 8) for lane in lanes]
patterns["halves swapped"] = [(lane ^ 16) for lane in lanes]
patterns["lane 0 far"] = [480 if lane == 0 else lane for lane in lanes]
patterns["half and half far"] = [lane if lane < 16 else 256 + lane for lane in lanes]
patterns["misaligned rows of 33"] = [(lane // 8) * 33 + lane % 8 for lane in lanes]
for number in range(6):
    patterns[f"random in 32, {number}"] = [random.randrange(32) for _ in lanes]
for number in range(6):
    patterns[f"random in 256, {number}"] = [random.randrange(256) for _ in lanes]
for number in range(5):
    patterns[f"random with gaps {number}"] = [random.randrange(64) if random.random() < 0.6 else -1 for _ in lanes]
for number in range(5):
    patterns[f"random pairs {number}"] = [value for _ in range(16) for value in [random.randrange(64)] * 2]
for number in range(5):
    base = [random.randrange(64) for _ in range(16)]
    patterns[f"random halves alike {number}"] = base + base

launches = []
for kind in ("global_load", "global_store", "shared_load", "shared_store", "copy"):
    for width in (1, 2, 4):
        for name, pattern in patterns.items():
            if kind.startswith("shared") and max(pattern) * width >= SPACE - width:
                continue
            stride = int(name.split()[1]) if name.startswith("stride") else 0
            if width > 1 and stride not in (*range(10), 12, 16, 17, 31, 32, 33):
                continue
            if kind in ("copy", "global_store") and (stride not in (0, 1, 2, 3, 4, 8, 9, 32) or "alike" in name or "share" in name):
                continue
            launches.append(
                {
                    "name": f"{kind}{32 * width}: {name}",
                    "kernel": f"{kind}{32 * width}.ptx",
                    "grid": [1, 1, 1],
                    "block": [32, 1, 1],
                    "shared": 4 * SPACE,
                    "m": SPACE,
                    "n": 1,
                    "k": 1,
                    "bytes": [32768, 128, 32768],
                    "b": pattern,
                }
            )
text = ",\n".join(json.dumps(launch) for launch in launches)
(here / "launches.json").write_text(f"[\n{text}\n]\n")
print(len(launches), "launches")
