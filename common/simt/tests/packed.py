"""Texts that only programs read are packed, as `gzip` does it: NAME.gz in place of NAME. `zcat` shows one."""
import gzip


def place(path):
    """The packed form of a file."""
    return path.with_name(f"{path.name}.gz")


def read(path):
    return gzip.decompress(place(path).read_bytes()).decode()


def write(path, text):
    """Packs a text, or bytes. Neither the time nor a name is in the file, so the same text gives the same bytes."""
    place(path).write_bytes(gzip.compress(text.encode() if isinstance(text, str) else text, 9, mtime=0))
