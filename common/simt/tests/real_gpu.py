"""Whether the driver that was opened is NVIDIA's, with a GPU behind it: only such a one may mark a record. The course's own driver
answers with a GPU's name, too."""
import pathlib
import sys


def refuse_others():
    """Ends the program if `libcuda` is not NVIDIA's, or if there is no GPU."""
    try:
        maps = pathlib.Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        sys.exit("this system does not tell which driver was opened; ask a GPU on Linux")
    files = {line.split(maxsplit=5)[5] for line in maps if "libcuda.so" in line}
    if not files or any(b"SIMT_REPORT" in pathlib.Path(file).read_bytes() for file in files):
        sys.exit("the driver that was opened is no NVIDIA driver; take the course's own out of LD_LIBRARY_PATH and LD_PRELOAD")
    if not any(pathlib.Path(file).exists() for file in ("/dev/nvidiactl", "/dev/dxg")):
        sys.exit("there is no GPU; run this where there is one")
