#!/usr/bin/env python3
"""Asks the tensor cores of a Hopper GPU what they make of chosen operands, and writes down what they said.

    ask_tensor_cores.py OUT [TIMES]
    ask_tensor_cores.py --ptx FOLDER     only writes the kernels, for `ptxas -arch=sm_90a`
    ask_tensor_cores.py --products FILE RECORD  marks in RECORD, `products.txt`, what the GPU gives as well

Needs a GPU of compute capability 9.0 and its driver, nothing else. FILE has the products of the test `instructions::matrices`, which
`SIMT_PRODUCTS=FILE cargo test -p simt-gpu --test main products` writes there. The mark is the GPU's name and the day, and there is no
other way to it; a product that the GPU contradicts loses it. Otherwise three files come of it; those in
`tensor_cores`, of TIMES 1, are what the tests of `exec::sums` and `exec::descriptor` hold the simulator to.

- sums.txt and sums.bin.gz: products of matrices by `mma.sync` and `wgmma`. A line names the instruction, the rows and columns of D,
  the length k, the types of A (and B) and of C (and D), the family of operands, and how many products there are. The packed
  file has of each product A, B, C and D, each in row order, in the order of the lines. Of `wgmma` it has the sixteen
  rows of the first warp.
- layouts.txt.gz: which element of shared memory `wgmma` takes for which element of an operand. A line names the operand, its type,
  whether it is transposed, its rows (A) or columns (B), its length k, the descriptor without the address of the array, and a
  hash (FNV-1a) of the elements' numbers in the array, each in two bytes, in row order of the operand (A) or of its
  transpose (B)."""
import ctypes
import datetime
import json
import pathlib
import random
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import packed as packing
import real_gpu

HEAD = ".version 8.0\n.target sm_90a\n.address_size 64\n"
# For each type: bits of the exponent, bits of the fraction, zero bits below the fraction, bits in total.
FORMATS = {"f16": (5, 10, 0, 16), "bf16": (8, 7, 0, 16), "tf32": (8, 10, 13, 32), "f32": (8, 23, 0, 32)}
# Name, rows, columns, k, type of A, type of C.
INSTRUCTIONS = [
    ("mma", 16, 8, 4, "tf32", "f32"),
    ("mma", 16, 8, 8, "tf32", "f32"),
    ("mma", 16, 8, 8, "f16", "f32"),
    ("mma", 16, 8, 16, "f16", "f32"),
    ("mma", 16, 8, 8, "bf16", "f32"),
    ("mma", 16, 8, 16, "bf16", "f32"),
    ("mma", 16, 8, 8, "f16", "f16"),
    ("mma", 16, 8, 16, "f16", "f16"),
    ("wgmma", 64, 8, 8, "tf32", "f32"),
    ("wgmma", 64, 8, 16, "f16", "f32"),
    ("wgmma", 64, 8, 16, "bf16", "f32"),
    ("wgmma", 64, 8, 16, "f16", "f16"),
]
PATTERN_BYTES = 40960


def bits(kind, negative, exponent, fraction):
    """The bits of a number. An exponent below the smallest gives a subnormal number, and one above the largest gives the largest."""
    wide, narrow, below, all_bits = FORMATS[kind]
    bias = (1 << wide - 1) - 1
    biased = min(max(exponent + bias, 0), 2 * bias)
    return negative << all_bits - 1 | biased << narrow + below | fraction << below


class Draw:
    """Draws the operands of one product: rows of A, columns of B, and elements of C."""

    def __init__(self, rng, a, c, k):
        self.rng, self.a, self.c, self.k = rng, a, c, k
        self.most = (1 << FORMATS[a][0] - 1) - 1

    def number(self, kind, low, high, fraction=None):
        narrow = FORMATS[kind][1]
        fraction = self.rng.getrandbits(narrow) if fraction is None else fraction
        return bits(kind, self.rng.getrandbits(1), self.rng.randint(low, high), fraction)

    def matrices(self, m, n, row, column, element):
        a = [value for _ in range(m) for value in row()]
        columns = [column() for _ in range(n)]
        return a, [columns[j][k] for k in range(self.k) for j in range(n)], [element() for _ in range(m * n)]

    def spread(self, m, n, e, c):
        e = min(e, self.most - 1)
        line = lambda: [self.number(self.a, -e, e) for _ in range(self.k)]
        return self.matrices(m, n, line, line, lambda: self.number(self.c, *c))

    def families(self, m, n):
        number, rng, k, kind, c = self.number, self.rng, self.k, self.a, self.c
        one, zero = bits(kind, 0, 0, 0), 0
        small = 14 if kind == "f16" else 30
        ones = lambda: [one] * k
        signs = lambda: [number(kind, 0, 0, 0) for _ in range(k)]
        powers = lambda low, high: lambda: [number(kind, low, high, 0) for _ in range(k)]
        some = lambda low, high: lambda: number(c, low, high)
        power = lambda low, high: lambda: number(c, low, high, 0)
        nothing = lambda: 0
        yield "near", self.spread(m, n, 0, (-1, 2))
        yield "spread 3", self.spread(m, n, 3, (-8, 8))
        yield "spread 8", self.spread(m, n, 8, (-20, 20))
        yield "spread 14", self.spread(m, n, 14, (-30, 30))
        yield "without c", self.spread(m, n, 6, (-200, -200))
        yield "large c", self.spread(m, n, 2, (12, 26))
        yield "small c", self.spread(m, n, 2, (-30, -15))
        yield "powers", self.matrices(m, n, powers(-13, 13), signs, power(-30, 30))
        yield "powers without c", self.matrices(m, n, powers(-small, 0), powers(-small, 0), nothing)

        # Two large numbers that cancel, and a small one: which of them meet in one sum?
        def three(large, low, high):
            line = [zero] * k
            first, second, third = rng.sample(range(k), 3)
            line[first], line[second] = bits(kind, 0, large, 0), bits(kind, 1, large, 0)
            line[third] = number(kind, low, high)
            return line
        yield "three", self.matrices(m, n, lambda: three(0, -14, -6), ones, nothing)
        yield "three far", self.matrices(m, n, lambda: three(10, -14, 0), ones, nothing)
        yield "three with c", self.matrices(m, n, lambda: three(12, -12, 0), ones, some(-14, 4))

        # One large number that C cancels, and a small one.
        def two():
            line = [zero] * k
            first, second = rng.sample(range(k), 2)
            line[first], line[second] = bits(kind, 0, 12, 0), number(kind, -14, 1)
            return line
        yield "two and c", self.matrices(m, n, two, ones, lambda: bits(c, 1, 12, 0))
        yield "two and near c", self.matrices(m, n, two, ones, lambda: number(c, 11, 13))

        # A single product, all of whose bits are visible.
        def single():
            line = [zero] * k
            line[rng.randrange(k)] = number(kind, -4, 4)
            return line
        full = lambda: [number(kind, -4, 4) for _ in range(k)]
        yield "single", self.matrices(m, n, single, full, some(-30, 30))
        yield "single without c", self.matrices(m, n, single, full, nothing)

        # Bits just below the last bit of the sum.
        def ties():
            line = [number(kind, -14, -10, rng.choice((0, 0, 1))) for _ in range(k)]
            if rng.getrandbits(1):
                line[rng.randrange(k)] = number(kind, 0, 0, 0)
            return line
        yield "ties", self.matrices(m, n, ties, powers(-14, -10), lambda: rng.choice((0, number(c, 0, 0, 0), number(c, 0, 0))))
        yield "ties with one", self.matrices(m, n, ties, ones, power(0, 14))
        largest = (1 << FORMATS[c][1]) - 1
        positive = lambda: [bits(kind, 0, rng.randint(-3, 0), rng.getrandbits(FORMATS[kind][1])) for _ in range(k)]
        yield "carries", self.matrices(m, n, positive, positive, lambda: bits(c, 0, rng.randint(-2, 6), largest))

        # Subnormal operands, sums and elements of C.
        tiny = lambda: [number(kind, -200, -200) if rng.random() < 0.7 else number(kind, -4, 4) for _ in range(k)]
        yield "subnormal", self.matrices(m, n, tiny, full, lambda: number(c, -200, -200) if rng.getrandbits(1) else number(c, -30, 0))
        yield "all subnormal", self.matrices(m, n, tiny, tiny, lambda: number(c, -200, -200))
        least = -7 if kind == "f16" else -70
        low = lambda: [number(kind, least - 5, least + 6) for _ in range(k)]
        yield "small sums", self.matrices(m, n, low, low, lambda: number(c, -200, -200) if rng.getrandbits(1) else number(c, -140, -118))

        # Beyond the largest number.
        above = 12 if kind == "f16" else 63
        high = lambda: [number(kind, above - 3, above + 1) for _ in range(k)]
        top = 15 if c == "f16" else 127
        yield "overflow", self.matrices(m, n, high, high, lambda: number(c, top - 4, top))
        few = lambda: [number(kind, above, above) if rng.random() < 2 / k else number(kind, 0, above // 2) for _ in range(k)]
        yield "near overflow", self.matrices(m, n, few, few, lambda: number(c, top - 2, top))

        # Infinities, NaNs, and zeros of both signs.
        def special(of, share):
            wide, narrow, below, all_bits = FORMATS[of]
            infinity = ((1 << wide) - 1) << narrow + below
            sign = rng.getrandbits(1) << all_bits - 1
            if rng.random() > share:
                return number(of, -4, 4)
            return rng.choice((sign, sign, sign | infinity, sign | infinity, sign | infinity | 1 << below, sign | infinity | 1 << narrow + below - 1))
        line = lambda: [special(kind, 0.5 / k) for _ in range(k)]
        yield "special", self.matrices(m, n, line, line, lambda: special(c, 0.1))
        zeros = lambda: [rng.getrandbits(1) << FORMATS[kind][3] - 1 if rng.random() < 0.95 else number(kind, 0, 0) for _ in range(k)]
        yield "zeros", self.matrices(m, n, zeros, full, lambda: rng.getrandbits(1) << FORMATS[c][3] - 1)
        if kind == "tf32":
            raw = lambda: [number("f32", -4, 4) for _ in range(k)]
            yield "all bits", self.matrices(m, n, raw, raw, some(-8, 8))


def element(part, kind, m, lane, i):
    """Row and column of element i of a lane in a fragment of mma or wgmma, as the PTX manual draws them."""
    group, member = lane // 4, lane % 4
    width = 2 if part in "dc" else {"f16": 2, "bf16": 2, "tf32": 1}[kind]
    square, at = i // width, member * width + i % width
    if part == "a":
        return group + 8 * (square % 2), at + 4 * width * (square // 2)
    if part == "b":
        return at + 4 * width * square, group
    return group + 8 * (square % 2), at + 8 * (square // 2)


def words(values, kind):
    if FORMATS[kind][3] == 32:
        return list(values)
    return [low | high << 16 for low, high in zip(values[::2], values[1::2])]


def parts(register_words, kind):
    if FORMATS[kind][3] == 32:
        return list(register_words)
    return [half for word in register_words for half in (word & 0xFFFF, word >> 16)]


def fragment(part, kind, warps, rows, columns, values):
    """The registers that hold a matrix: warp by warp (sixteen rows each), lane by lane."""
    own = rows * columns // 32 // warps
    out = []
    for warp in range(warps):
        for lane in range(32):
            at = (element(part, kind, rows, lane, i) for i in range(own))
            out += words([values[(row + 16 * warp) * columns + column] for row, column in at], kind)
    return out


def unfragment(kind, warps, rows, columns, registers):
    own = rows * columns // 32 // warps
    values = [0] * (rows * columns)
    elements = iter(parts(registers, kind))
    for warp in range(warps):
        for lane in range(32):
            for i in range(own):
                row, column = element("d", kind, rows, lane, i)
                values[(row + 16 * warp) * columns + column] = next(elements)
    return values


def moves(verb, name, count, base, stride):
    """Loads or stores of a lane's registers. The words of one thread are contiguous in memory."""
    text = f"ld.param.u64 %base, [{base}]; mad.wide.u32 %at, %index, {4 * stride}, %base;\n"
    for at in range(count):
        place, register = f"[%at+{4 * at}]", f"%{name}{at}"
        text += f"ld.global.b32 {register}, {place};\n" if verb == "ld" else f"st.global.b32 {place}, {register};\n"
    return text


def vector(name, count):
    return "{" + ", ".join(f"%{name}{at}" for at in range(count)) + "}"


OPENING = """.visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd)
{
.reg .b64 %at, %base, %desc, %other; .reg .b32 %index, %t, %s, %v, %w; .reg .pred %p;
.reg .b32 %a<4>; .reg .b32 %b<4>; .reg .b32 %d<128>;
.shared .align 1024 .b8 s[41984];
mov.u32 %t, %tid.x; mov.u32 %index, %ctaid.x; mad.lo.u32 %index, %index, THREADS, %t;
"""
BEFORE = "fence.proxy.async;\nbar.sync 0;\nwgmma.fence.sync.aligned;\n"
AFTER = "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"


def sum_kernel(name, m, n, k, a, c):
    size = FORMATS[c][3]
    # Registers of a lane.
    left, right, sums = (16 * k * FORMATS[a][3] // 1024, k * 8 * FORMATS[a][3] // 1024, 16 * 8 * size // 1024)
    if name == "mma":
        text = HEAD + OPENING.replace("THREADS", "32")
        text += moves("ld", "a", left, "pa", left) + moves("ld", "b", right, "pb", right) + moves("ld", "d", sums, "pc", sums)
        text += f"mma.sync.aligned.m{m}n{n}k{k}.row.col.{c}.{a}.{a}.{c} {vector('d', sums)}, {vector('a', left)}, {vector('b', right)}, {vector('d', sums)};\n"
    else:
        text = HEAD + OPENING.replace("THREADS", "128")
        text += moves("ld", "a", left, "pa", left) + moves("ld", "d", sums, "pc", sums)
        # 256 bytes of B in shared memory: eight columns of 16 bytes, twice.
        text += ("mov.u32 %s, s; shr.u32 %v, %s, 4; cvt.u64.u32 %desc, %v; or.b64 %desc, %desc, 0x0000000800080000;\n"
                 "mov.u32 %w, %ctaid.x; shl.b32 %w, %w, 6; add.u32 %w, %w, %t; ld.param.u64 %base, [pb]; mad.wide.u32 %at, %w, 4, %base;\n"
                 "setp.lt.u32 %p, %t, 64; mad.lo.u32 %s, %t, 4, %s; @%p ld.global.b32 %v, [%at]; @%p st.shared.b32 [%s], %v;\n")
        trans = "" if a == "tf32" else ", 0"
        text += BEFORE + (f"wgmma.mma_async.sync.aligned.m{m}n{n}k{k}.{c}.{a}.{a} {vector('d', sums)}, {vector('a', left)}, %desc, 1, 1, 1{trans};\n") + AFTER
    return text + moves("st", "d", sums, "pd", sums) + "ret;\n}\n"


def fill(kind):
    """Fills the array so that each element holds its index, encoded in a way that the type can represent."""
    loop = "mov.u32 %w, %t;\nL: "
    if kind == "tf32":
        # Ten bits of the index are in the fraction, the others in the exponent.
        body = "add.u32 %v, %w, 65536; shl.b32 %v, %v, 13; st.shared.b32 [%s], %v; add.u32 %w, %w, 128; add.u32 %s, %s, 512;"
        count = PATTERN_BYTES // 4
    else:
        body = "add.u32 %v, %w, 1024; st.shared.b16 [%s], %v; add.u32 %w, %w, 128; add.u32 %s, %s, 256;"
        count = PATTERN_BYTES // 2
    body = body.replace("st.shared.b16 [%s], %v", "cvt.u16.u32 %h, %v; st.shared.b16 [%s], %h")
    step = 4 if kind == "tf32" else 2
    return (f".reg .b16 %h;\nmov.u32 %s, s; mad.lo.u32 %s, %t, {step}, %s;\n{loop}{body}\n"
            f"setp.lt.u32 %p, %w, {count}; @%p bra L;\n")


def number_of(word, kind):
    """The index of the array element whose value a single-precision sum is, or 0xFFFF."""
    if kind == "tf32":
        number = (word >> 13) - 65536
        return number if 0 <= number < PATTERN_BYTES // 4 else 0xFFFF
    exponent = word >> 23 & 0xFF
    if word >> 31 or exponent == 0:
        return 0xFFFF
    number = ((exponent - 112) << 10 | word >> 13 & 0x3FF) - 1024
    return number if 0 <= number < PATTERN_BYTES // 2 else 0xFFFF


def layout_kernel(operand, kind, trans, size):
    k = 8 if kind == "tf32" else 16
    text = HEAD + OPENING.replace("THREADS", "128") + fill(kind)
    flag = "" if kind == "tf32" else (f", {trans}, 0" if operand == "a" else f", {trans}")
    text += ("mov.u32 %s, s; shr.u32 %v, %s, 4; cvt.u64.u32 %other, %v; ld.param.u64 %base, [pb];\n"
             "mov.u32 %w, %ctaid.x; mad.wide.u32 %at, %w, 8, %base; ld.global.b64 %desc, [%at]; add.u64 %desc, %desc, %other;\n")
    sums = (size if operand == "b" else k) // 2
    text += "".join(f"mov.b32 %d{at}, 0;\n" for at in range(sums))
    if operand == "b":
        # A is a unit matrix, sixteen rows of it in every warp.
        text += "rem.u32 %index, %t, 32;\n" + moves("ld", "a", 4, "pa", 4)
        left = vector("a", 4)
        right, n = "%desc", size
    else:
        # B is a unit matrix after the array, with contiguous words.
        text += (f"ld.param.u64 %base, [pa]; mad.wide.u32 %at, %t, 4, %base; ld.global.b32 %v, [%at];\n"
                 f"mad.lo.u32 %w, %t, 4, %s; setp.lt.u32 %p, %t, {k * k * FORMATS[kind][3] // 32}; @%p st.shared.b32 [%w+{PATTERN_BYTES}], %v;\n"
                 f"add.u64 %other, %other, {PATTERN_BYTES // 16}; or.b64 %other, %other, 0x0000001000080000;\n")
        left, right, n = "%desc", "%other", k
    text += BEFORE + f"wgmma.mma_async.sync.aligned.m64n{n}k{k}.f32.{kind}.{kind} {vector('d', sums)}, {left}, {right}, 0, 1, 1{flag};\n" + AFTER
    text += "mov.u32 %w, %ctaid.x; mad.lo.u32 %index, %w, 128, %t;\n"
    return text + moves("st", "d", sums, "pd", sums) + "ret;\n}\n"


def unit(kind, k):
    one = {"tf32": 0x3F800000, "f16": 0x3C00}[kind]
    return [one if row == column else 0 for row in range(k) for column in range(k)]


def descriptors(rng):
    """Descriptors relative to the array, all of whose addresses are inside it."""
    out = []
    for swizzle in range(4):
        repeat = {0: 16, 1: 1024, 2: 512, 3: 256}[swizzle]
        for index in range(40):
            start = 0 if index < 4 else rng.randrange(256 if index < 30 else 512) * 16
            if index in range(4, 16):
                # Starts like those of kernels that step along k within a row of the pattern.
                start = rng.randrange(4) * repeat + rng.randrange(8) * 16
            base = rng.randrange(8) if index >= 30 else 0
            lead, stride = (rng.randrange(1, 96) * 16 for _ in range(2))
            if index % 3 == 0:
                lead, stride = (rng.randrange(1, 3) * max(repeat, 128) for _ in range(2))
            out.append(start >> 4 | lead >> 4 << 16 | stride >> 4 << 32 | base << 49 | swizzle << 62)
    return out


class Gpu:
    def __init__(self):
        try:
            self.cuda = ctypes.CDLL("libcuda.so.1")
        except OSError:
            sys.exit("this machine has no NVIDIA driver; run this where there is a GPU")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *arguments):
        status = getattr(self.cuda, name)(*arguments)
        if status:
            text = ctypes.c_char_p()
            self.cuda.cuGetErrorString(status, ctypes.byref(text))
            sys.exit(f"{name}: {(text.value or b'error').decode()}")

        self.device = device

    def name(self):
        name = ctypes.create_string_buffer(100)
        self.call("cuDeviceGetName", name, 100, self.device)
        return name.value.decode()

    def memory(self, data):
        pointer = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(len(data)))
        self.call("cuMemcpyHtoD_v2", pointer, data, ctypes.c_size_t(len(data)))
        return pointer

    def run(self, ptx, blocks, threads, inputs, size):
        """Runs a kernel on the input arrays and one more, and returns the words in that one."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(ptx.encode()))
        self.call("cuModuleGetFunction", ctypes.byref(function), module, b"k")
        arguments = [self.memory(data or b"none") for data in inputs] + [self.memory(bytes(4 * size))]
        pointers = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(argument) for argument in arguments))
        self.call("cuLaunchKernel", function, blocks, 1, 1, threads, 1, 1, 0, None, pointers, None)
        self.call("cuCtxSynchronize")
        out = (ctypes.c_uint32 * size)()
        self.call("cuMemcpyDtoH_v2", out, arguments[-1], ctypes.c_size_t(4 * size))
        for argument in arguments:
            self.call("cuMemFree_v2", argument)
        self.call("cuModuleUnload", module)
        return list(out)


def packed(values, kind):
    return struct.pack(f"<{len(values)}{'I' if FORMATS[kind][3] == 32 else 'H'}", *values)


def ask_sums(gpu, folder, times):
    lines, data = [], bytearray()
    for name, m, n, k, a, c in INSTRUCTIONS:
        rng = random.Random(f"{name} {k} {a} {c}")
        products = [product for _ in range(times) for product in Draw(rng, a, c, k).families(m, n)]
        products.sort(key=lambda product: product[0])
        warps = m // 16
        left, right, sums = [], [], []
        for _, (x, y, z) in products:
            left += fragment("a", a, warps, m, k, x)
            if name == "mma":
                right += fragment("b", a, 1, k, n, y)
            else:
                # K-major: 16 bytes of each column, then the next 16 bytes.
                width = 128 // FORMATS[a][3]
                right += words([y[(chunk * width + i) * n + j] for chunk in range(2) for j in range(n) for i in range(width)], a)
            sums += fragment("c", c, warps, m, n, z)
        inputs = [struct.pack(f"<{len(values)}I", *values) for values in (left, right, sums)]
        found = gpu.run(sum_kernel(name, m, n, k, a, c), len(products), 32 * warps, inputs, len(sums))
        each = len(found) // len(products)
        for index, (family, (x, y, z)) in enumerate(products):
            d = unfragment(c, warps, m, n, found[index * each:(index + 1) * each])
            data += packed(x[:16 * k], a) + packed(y, a) + packed(z[:16 * n], c) + packed(d[:16 * n], c)
            key = f"{name}\t16\t{n}\t{k}\t{a}\t{c}\t{family}\t"
            if not lines or lines[-1][0] != key:
                lines.append([key, 0])
            lines[-1][1] += 1
    (folder / "sums.txt").write_text("".join(f"{key}{count}\n" for key, count in lines))
    packing.write(folder / "sums.bin", bytes(data))


def layout_cases():
    yield "b", "tf32", 0, 8
    yield "b", "tf32", 0, 64
    yield "a", "tf32", 0, 64
    for trans in (0, 1):
        yield "b", "f16", trans, 8
        yield "b", "f16", trans, 64
        yield "b", "f16", trans, 136
        yield "a", "f16", trans, 64


def hashed(numbers, kind="H"):
    value = 0xCBF29CE484222325
    for byte in struct.pack(f"<{len(numbers)}{kind}", *numbers):
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def ask_layouts(gpu, folder):
    lines = []
    for operand, kind, trans, size in layout_cases():
        rng = random.Random(f"{operand} {kind} {trans} {size}")
        k = 8 if kind == "tf32" else 16
        known = descriptors(rng)
        if operand == "b":
            # Of a warp's sixteen rows, those after the first k are zero.
            rows = unit(kind, k) + [0] * (16 * k - k * k)
            first = fragment("a", kind, 1, 16, k, rows)
        else:
            # The unit matrix is 8 columns of 16 bytes, then their next 16 bytes, then the next 8 columns.
            width, one = 128 // FORMATS[kind][3], unit(kind, k)
            first = words([one[(chunk * width + i) * k + 8 * part + j] for part in range(k // 8) for chunk in range(2)
                           for j in range(8) for i in range(width)], kind)
            first += [0] * (128 - len(first))
        columns = size if operand == "b" else k
        inputs = [struct.pack(f"<{len(first)}I", *first), struct.pack(f"<{len(known)}Q", *known), b""]
        found = gpu.run(layout_kernel(operand, kind, trans, size), len(known), 128, inputs, len(known) * 64 * columns)
        for index, descriptor in enumerate(known):
            d = unfragment("f32", 4, 64, columns, found[index * 64 * columns:(index + 1) * 64 * columns])
            if operand == "b":
                # Row order of B^T, which is B column by column.
                numbers = [number_of(d[row * columns + column], kind) for column in range(columns) for row in range(k)]
            else:
                numbers = [number_of(word, kind) for word in d]
            lines.append(f"{operand}\t{kind}\t{trans}\t{size}\t{k}\t{descriptor}\t{hashed(numbers)}\n")
    packing.write(folder / "layouts.txt", "".join(lines))


def ask_products(gpu, file, record):
    real_gpu.refuse_others()
    found_of = {}
    for product in map(json.loads, file.open()):
        inputs = [struct.pack(f"<{len(words)}I", *words) for words in product["arrays"]]
        found = gpu.run(product["kernel"], 1, product["threads"], inputs[:-1], len(inputs[-1]) // 4)
        value = hashed(found, "Q")
        found_of[product["name"]] = f"{product['name']}: {(value ^ value >> 32) & 0xFFFFFFFF:08x}"
    mark = f"\t{gpu.name()}, {datetime.date.today()}"
    text, differ = [], 0
    for line in record.read_text().splitlines():
        entry = line.split("\tNVIDIA ")[0]
        found = found_of.get(entry.split(": ")[0])
        differ += found is not None and found != entry
        text.append((line if found is None else entry + mark if found == entry else entry) + "\n")
    record.write_text("".join(text))
    print(f"{record}: {len(text)} products, {differ} differ")


def write_ptx(folder):
    """All kernels as files, for the assembler."""
    for name, m, n, k, a, c in INSTRUCTIONS:
        (folder / f"sum_{name}_{k}_{a}_{c}.ptx").write_text(sum_kernel(name, m, n, k, a, c))
    for operand, kind, trans, size in layout_cases():
        (folder / f"layout_{operand}_{kind}_{trans}_{size}.ptx").write_text(layout_kernel(operand, kind, trans, size))


if len(sys.argv) == 3 and sys.argv[1] == "--ptx":
    write_ptx(pathlib.Path(sys.argv[2]))
    sys.exit()
if len(sys.argv) == 4 and sys.argv[1] == "--products":
    ask_products(Gpu(), *map(pathlib.Path, sys.argv[2:]))
    sys.exit()
if len(sys.argv) not in (2, 3):
    sys.exit(__doc__)
out = pathlib.Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
gpu = Gpu()
ask_sums(gpu, out, int(sys.argv[2]) if len(sys.argv) == 3 else 1)
ask_layouts(gpu, out)
