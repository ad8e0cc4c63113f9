#!/usr/bin/env python3
"""Records what Nsight Compute counts for a list of launches.

    record.py LAUNCHES.json [LAUNCHES.json ...] --out FOLDER

Needs a GPU, nvcc and ncu. Each list is a JSON array of
    {"name", "kernel": file (.ptx or .cu, in the list's folder or from a folder above it on), "options": [nvcc options for .cu],
     "grid": [x, y, z], "block": [x, y, z], "shared_bytes": dynamic bytes, "m", "n", "k" (optional where the next are given),
     "entry": name of the kernel (optional; default matmul),
     "args": [{"a", "b", "c" or "workspace": element of 4 bytes to point to, or "int": value}, ...] (optional; default A, B, C, m, n, k),
     "bytes": [A, B, C, workspace] (optional; default 4-byte matrices), "b": [integers for the start of B] (optional)}
All memory is filled with ones. A kernel that is no file of its own is looked for in the packed .ptx files of the list's folder,
after a line `//// NAME`. One packed JSON file for each list is written to FOLDER under the list's name, or beside the list as
NAME.readings.json.gz if there is no FOLDER:
    {"gpu", "driver", "tool", "date",
     "same": {what all launches of the list have in common}, "kernels": {"FILE ENTRY": SHA-256 of its code}, "metrics": [names],
     "readings": [{the rest of the launch, "metrics": [a value for each name, or null]}, one a line]}
`python3 make_launches.py` makes the lists of this folder, `cargo x counters --launches docs/results/counters/steps.json` that of the steps."""
import argparse
import csv
import datetime
import hashlib
import io
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import packed

METRICS = """
smsp__inst_executed.sum
smsp__inst_executed_op_global_ld.sum
smsp__inst_executed_op_global_st.sum
smsp__inst_executed_op_shared_ld.sum
smsp__inst_executed_op_shared_st.sum
smsp__inst_executed_op_ldgsts.sum
smsp__sass_thread_inst_executed_op_ffma_pred_on.sum
smsp__sass_thread_inst_executed_op_integer_pred_on.sum
l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum
l1tex__t_requests_pipe_lsu_mem_global_op_st.sum
l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum
l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum
l1tex__t_requests_pipe_lsu_mem_global_op_ldgsts.sum
l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts.sum
l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum
l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum
l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum
l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum
memory_l1_wavefronts_shared
memory_l1_wavefronts_shared_ideal
memory_l2_theoretical_sectors_global
memory_l2_theoretical_sectors_global_ideal
launch__registers_per_thread
launch__occupancy_limit_blocks
launch__occupancy_limit_registers
launch__occupancy_limit_shared_mem
launch__occupancy_limit_warps
""".split()

KINDS = ["a", "b", "c", "workspace", "int"]

HOST = r"""
#include <cuda.h>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>
static void check(CUresult r, const char* what) {
    if (r != CUDA_SUCCESS) { const char* s = "?"; cuGetErrorString(r, &s); fprintf(stderr, "%s: %s\n", what, s); exit(1); }
}
int main(int, char** argv) {
    check(cuInit(0), "cuInit");
    CUdevice device; check(cuDeviceGet(&device, 0), "device");
    CUcontext context; check(cuDevicePrimaryCtxRetain(&context, device), "context"); check(cuCtxSetCurrent(context), "context");
    std::map<std::string, CUfunction> kernels;
    std::ifstream list(argv[1]);
    std::string line;
    while (std::getline(list, line)) {
        std::istringstream in(line);
        std::string file, entry; unsigned g[3], b[3], shared; size_t count;
        in >> file >> entry >> g[0] >> g[1] >> g[2] >> b[0] >> b[1] >> b[2] >> shared;
        CUfunction& kernel = kernels[file + " " + entry];
        if (!kernel) {
            CUmodule module; check(cuModuleLoad(&module, file.c_str()), file.c_str());
            check(cuModuleGetFunction(&kernel, module, entry.c_str()), entry.c_str());
        }
        check(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared), "shared");
        CUdeviceptr p[4];
        for (CUdeviceptr& pointer : p) {
            size_t bytes; in >> bytes;
            check(cuMemAlloc(&pointer, bytes ? bytes : 4), "alloc");
            check(cuMemsetD32(pointer, 0x3f800000, bytes / 4), "set");
        }
        in >> count;
        std::vector<int> start(count);
        for (int& value : start) in >> value;
        if (count) check(cuMemcpyHtoD(p[1], start.data(), 4 * count), "copy");
        in >> count;
        std::vector<CUdeviceptr> values(count);  // an integer is the first half of one
        std::vector<void*> args;
        for (CUdeviceptr& value : values) {
            int kind; in >> kind >> value;
            if (kind < 4) value = p[kind] + 4 * value;
            args.push_back(&value);
        }
        check(cuLaunchKernel(kernel, g[0], g[1], g[2], b[0], b[1], b[2], shared, 0, args.data(), nullptr), "launch");
        check(cuCtxSynchronize(), line.c_str());
        for (CUdeviceptr pointer : p) cuMemFree(pointer);
    }
}
"""


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return done.stdout


def file_of(folder, kernel):
    files = (above / kernel for above in (folder, *folder.parents))
    return next((file for file in files if file.exists() or packed.place(file).exists()), folder / kernel)


def text_of(folder, kernel):
    """The text of a kernel's file, which may be packed, and a part of another file."""
    file = file_of(folder, kernel)
    if file.exists():
        return file.read_text()
    if packed.place(file).exists():
        return packed.read(file)
    for file in sorted(folder.glob("*.ptx.gz")):
        programs = re.split(r"^//// (.*)\n", packed.read(file.with_suffix("")), flags=re.MULTILINE)
        if kernel in programs[1::2]:
            return programs[2::2][programs[1::2].index(kernel)]
    sys.exit(f"{folder / kernel} is missing")


def code_of(text, entry):
    """An entry's code, with the text before the first entry. Other entries, comments and source locations are left out, because
    they do not change the machine code."""
    lines, own = [], True
    for line in text.splitlines(keepends=True):
        start = line.lstrip()
        if start.startswith(".section"):
            break
        if name := re.match(r"\.visible \.entry (\w+)", start):
            own = name[1] == entry
        if own and not start.startswith(("//", ".loc", ".file", "$L__tmp", "$L__func")):
            lines.append(line)
    return "".join(lines)


def compact(head, launches, hashes, rows):
    """The text of a record. Fields that all launches share, and the names of the metrics, are written only once."""
    shared = [key for key in launches[0] if all(key in launch and launch[key] == launches[0][key] for launch in launches)]
    same = {key: launches[0][key] for key in shared if key != "name"}
    names = [name for name in METRICS if any(name in row for row in rows)]
    line = lambda value: json.dumps(value, separators=(",", ":"))
    readings = [
        line({**{key: launch[key] for key in launch if key not in same}, "metrics": [row.get(name) for name in names]})
        for launch, row in zip(launches, rows)
    ]
    parts = [f"{line(key)}: {json.dumps(value)}" for key, value in head.items()]
    parts += [f'"same": {line(same)}', '"kernels": {\n' + ",\n".join(f"{line(k)}: {line(h)}" for k, h in hashes.items()) + "\n}"]
    parts += ['"metrics": [\n' + ",\n".join(map(line, names)) + "\n]", '"readings": [\n' + ",\n".join(readings) + "\n]"]
    return "{" + ",\n".join(parts) + "}\n"


def number(text):
    text = text.replace(",", "")
    try:
        value = float(text)
    except ValueError:
        return None
    return int(value) if value == int(value) else value


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("lists", nargs="+", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--limit", type=int, help="only the first so many launches of each list")
    options = parser.parse_args()
    for tool in ("nvcc", "ncu"):
        if not shutil.which(tool) and not pathlib.Path(f"/usr/local/cuda/bin/{tool}").exists():
            sys.exit(f"{tool} is not installed")
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    ncu = shutil.which("ncu") or "/usr/local/cuda/bin/ncu"
    work = pathlib.Path(tempfile.mkdtemp())
    (work / "host.cpp").write_text(HOST)
    run(nvcc, "-o", work / "host", work / "host.cpp", "-lcuda")
    gpu, driver = run("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader").splitlines()[0].split(", ")
    version = run(ncu, "--version").strip().splitlines()[-1]
    for path in options.lists:
        launches = json.loads(path.read_text())[: options.limit]
        files, hashes, lines = {}, {}, []
        for launch in launches:
            source = file_of(path.resolve().parent, launch["kernel"])
            key = (source, tuple(launch.get("options", [])))
            if key not in files:
                target = work / f"{len(files)}.ptx"
                if source.suffix == ".cu":
                    run(nvcc, "-ptx", "-arch=compute_80", *key[1], "-o", target, source)
                else:
                    target.write_text(text_of(path.resolve().parent, launch["kernel"]))
                files[key] = target
            m, n, k = (launch.get(side, 0) for side in "mnk")
            sizes = (launch.get("bytes", [4 * m * k, 4 * k * n, 4 * m * n]) + [0])[:4]
            usual = [{"a": 0}, {"b": 0}, {"c": 0}, {"int": m}, {"int": n}, {"int": k}]
            args = [(KINDS.index(kind), at) for arg in launch.get("args", usual) for kind, at in arg.items()]
            start = launch.get("b", [])
            text = source.read_text() if source.suffix == ".cu" else text_of(path.resolve().parent, launch["kernel"])
            entry = launch.get("entry", "matmul")
            hashes[f"{launch['kernel']} {entry}"] = hashlib.sha256(code_of(text, entry).encode()).hexdigest()
            values = [files[key], entry, *launch["grid"], *launch["block"], launch.get("shared_bytes", 0)]
            values += [*sizes, len(start), *start, len(args), *(value for arg in args for value in arg)]
            lines.append(" ".join(map(str, values)))
        (work / "list").write_text("\n".join(lines) + "\n")
        # Run without the profiler first, so that a broken launch is reported as such.
        run(work / "host", work / "list")
        text = run(ncu, "--clock-control", "none", "--csv", "--page", "raw", "--metrics", ",".join(METRICS), work / "host", work / "list")
        rows = list(csv.DictReader(io.StringIO("\n".join(l for l in text.splitlines() if l.startswith('"')))))
        rows = [row for row in rows if row.get("ID", "").strip()]
        if len(rows) != len(launches):
            sys.exit(f"{path}: {len(launches)} launches, {len(rows)} readings")
        values = [
            {name: number(row[name]) for name in METRICS if name in row and number(row[name]) is not None} for row in rows
        ]
        head = {"gpu": gpu, "driver": driver, "tool": f"ncu {version}", "date": datetime.date.today().isoformat()}
        out = options.out / f"{path.stem}.readings.json" if options.out else path.with_suffix(".readings.json")
        out.parent.mkdir(parents=True, exist_ok=True)
        packed.write(out, compact(head, launches, hashes, values))
        print(f"{len(values)} readings of {gpu}, driver {driver}, in {packed.place(out)}")


if __name__ == "__main__":
    main()
