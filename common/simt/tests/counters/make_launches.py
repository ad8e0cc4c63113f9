#!/usr/bin/env python3
"""Writes the lists of accesses whose counts are recorded on hardware: launches.json, sharing.json (lanes that share addresses,
in whole and partly active warps) and copies.json (asynchronous copies). Deterministic: `make_launches.py --check` writes nothing
and compares with the launches of the readings."""
import json
import pathlib
import random
import sys

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent))
import packed

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


def launch(kernel, name, b, shared=4 * SPACE, m=SPACE, sizes=(32768, 128, 32768)):
    """A launch of one warp of a kernel in this folder. B begins with a number for each lane that says what the lane does."""
    return {
        "name": f"{kernel}: {name}",
        "kernel": f"{kernel}.ptx",
        "grid": [1, 1, 1],
        "block": [32, 1, 1],
        "shared_bytes": shared,
        "m": m,
        "n": 1,
        "k": 1,
        "bytes": list(sizes),
        "b": b,
    }


launches = []
for kind in ("global_load", "global_store", "shared_load", "shared_store"):
    for width in (1, 2, 4):
        for name, pattern in patterns.items():
            if kind.startswith("shared") and max(pattern) * width >= SPACE - width:
                continue
            stride = int(name.split()[1]) if name.startswith("stride") else 0
            if width > 1 and stride not in (*range(10), 12, 16, 17, 31, 32, 33):
                continue
            if kind == "global_store" and (stride not in (0, 1, 2, 3, 4, 8, 9, 32) or "alike" in name or "share" in name):
                continue
            launches.append(launch(f"{kind}{32 * width}", name, pattern))
copies = []


def copy(kernel, name, places, targets, zeros=(), gaps=()):
    """Lane i copies from places[i] to targets[i]. The lanes in zeros only fill with zeros, and those in gaps are inactive."""
    codes = [-1 if i in gaps else places[i] | targets[i] << 12 | (i in zeros) << 24 for i in lanes]
    copies.append(launch(kernel, name, codes, shared=32768, m=1, sizes=(65536, 128, 128)))


def some(share):
    return {lane for lane in lanes if random.random() < share}


row = list(lanes)
for kernel, width in (("copy32", 1), ("copy64", 2), ("copy128", 4), ("copy128_bypass", 4)):
    past = kernel.endswith("bypass")
    for start in range(8 if past else 4):
        for to in range(8 if past else 4):
            copy(kernel, f"row from {start} to {to}", [i + start for i in lanes], [i + to for i in lanes])
    for stride in (0, 2, 3, 4, 5, 8, 9, 16, 31, 32):
        spread = [i * stride for i in lanes]
        copy(kernel, f"stride {stride} from", spread, row)
        if stride:
            copy(kernel, f"stride {stride} to", row, spread)
            copy(kernel, f"stride {stride} from and to", spread, spread)
    for count in (1, 3, 8, 15, 16, 17, 31):
        copy(kernel, f"{count} lanes", row, row, gaps=range(count, 32))
        copy(kernel, f"{count} lanes from 2, others zero", [i + 2 for i in lanes], row, zeros=range(count, 32))
    copy(kernel, "no lane", row, row, gaps=lanes)
    copy(kernel, "only zeros", row, row, zeros=lanes)
    copy(kernel, "reversed", row[::-1], row)
    copy(kernel, "pairs share", [i // 2 for i in lanes], row)
    copy(kernel, "half-warps alike", [i % 16 for i in lanes], row)
    copy(kernel, "one lane of each half", [32 * i for i in lanes], row, gaps=set(lanes) - {3, 21})
    # Tiles: rows of 4, 8 and 16 lanes from matrices of several widths, and transposed tiles of 8 columns and 4 rows of several widths.
    for lanes_of_row in (4, 8, 16):
        for pitch in (33, 34, 36, 66, 250):
            start = random.choice((0, 1, 2, 4))
            copy(kernel, f"rows of {lanes_of_row}, {pitch} apart, from {start}",
                 [i // lanes_of_row * pitch + i % lanes_of_row + start for i in lanes], row)
    for pitch in (32, 33, 36, 68):
        for width_from in (45, 64, 66, 136):
            copy(kernel, f"transposed, {width_from} and {pitch} apart",
                 [i // 8 * width_from + i % 8 for i in lanes], [i % 8 * pitch + i // 8 for i in lanes])
    for number in range(24):
        copy(kernel, f"permuted {number}", random.sample(row, 32), random.sample(row, 32), gaps=some(0.3) if number % 3 == 0 else ())
    for number in range(24):
        copy(kernel, f"anywhere {number}", [random.randrange(64) for _ in lanes], random.sample(range(64), 32),
             zeros=some((0, 0.2, 0.6)[number % 3]), gaps=some(0.2) if number % 4 == 0 else ())
    for number in range(12):
        copy(kernel, f"far {number}", random.sample(range(1000), 32), random.sample(range(1000), 32))
# Copies past the cache in which several lanes read the same 16 bytes. The rule is not exact only for these.
for number in range(30):
    copy("copy128_bypass", f"sharing {number}", [random.randrange(8) for _ in lanes], row, gaps=range(8, 32))
for start in (0, 2, 3):
    copy("copy128_bypass_p0", f"row from {start}", [i + start for i in lanes], row)

# Lanes that share addresses in many ways, also in partly active warps, because wide loads can then take fewer wavefronts.
sharing = []


def shape():
    """A name and the place of each lane, in a pattern that occurs in kernels or at random."""
    pool = [place + 8 * random.randrange(3) for place in random.sample(range(8), random.choice([1, 2, 2, 3, 4, 6, 8]))]
    kind = random.choice(["grid", "bits", "chance", "pairs", "two apart", "period", "permuted", "fragment"])
    if kind == "grid":
        lanes_of_row, pitch, step = random.choice([2, 4, 8, 16]), random.choice([1, 2, 4, 8, 9, 17, 32, 33, 36]), random.choice([0, 1, 1, 2, 4, 9])
        return kind, [i // lanes_of_row * pitch + i % lanes_of_row * step for i in lanes]
    if kind == "bits":
        steps = [random.choice([0, 1, 2, 3, 4, 5, 8, 9, 16, 32]) for _ in range(5)]
        return kind, [sum(step for bit, step in enumerate(steps) if i >> bit & 1) for i in lanes]
    if kind == "chance":
        return kind, [random.choice(pool) for _ in lanes]
    if kind == "pairs":
        places = [random.choice(pool) for _ in range(16)]
        return kind, [places[i // 2] for i in lanes]
    if kind == "two apart":
        places = [random.choice(pool) for _ in range(16)]
        return kind, [places[i // 4 * 2 + i % 2] for i in lanes]
    if kind == "period":
        count = random.choice([4, 8, 16])
        places = [random.randrange(32) for _ in range(count)]
        return kind, [places[i % count] for i in lanes]
    if kind == "permuted":
        return kind, random.sample(range(random.choice([32, 64])), 32)
    places = [random.randrange(32) for _ in range(8)]
    return kind, [places[i // 16 * 2 + i % 2] for i in lanes] if random.random() < 0.5 else [places[i // 2 % 8] for i in lanes]


def active():
    """A set of active lanes: all, those of a mask, some of the first, or a random set."""
    kind = random.randrange(6)
    if kind == 0:
        mask = random.choice([0xFF, 0xFFFF, 0xFFFF0000, 0xF0F0F0F0, 0x55555555, 0x33333333, 0x0F0F0F0F, 0x7FFFFFFF, 0xFFFFFFFE, 0x7FFF7FFF])
        return {i for i in lanes if mask >> i & 1}
    if kind == 1:
        return set(range(random.randrange(1, 32)))
    return some(random.choice([0.2, 0.5, 0.8, 0.9])) if kind < 4 else set(lanes)


for kernel, count in (
    ("shared_load128", 300),
    ("shared_load64", 150),
    *((kernel, 30) for kernel in ("shared_load32", "shared_store32", "shared_store64", "shared_store128")),
    *((kernel, 20) for kernel in ("global_load64", "global_load128", "global_store64", "global_store128")),
):
    width = int(kernel.lstrip("abcdefghijklmnopqrstuvwxyz_")) // 32
    for number in range(count):
        (name, places), taking_part = shape(), active()
        pattern = [place if i in taking_part else -1 for i, place in enumerate(places)]
        if max(pattern) * width < SPACE - width:
            sharing.append(launch(kernel, f"{name} {number}", pattern))

for name, list_of in (("launches", launches), ("copies", copies), ("sharing", sharing)):
    if sys.argv[1:] == ["--check"]:
        record = json.loads(packed.read(here / f"{name}.readings.json"))
        recorded = [{key: {**record["same"], **reading}.get(key) for key in list_of[0]} for reading in record["readings"]]
        if recorded != list_of:
            sys.exit(f"{name}.readings.json has other launches; record them again with record.py")
        continue
    text = ",\n".join(json.dumps(launch) for launch in list_of)
    (here / f"{name}.json").write_text(f"[\n{text}\n]\n")
    print(len(list_of), name)
