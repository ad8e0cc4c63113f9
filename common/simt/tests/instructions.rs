//! Every arithmetic instruction against a model of one line of Rust, over edge cases and random operands, with every
//! instruction set of the host.

#![allow(
    // Instructions compare floating-point numbers exactly, and so do their models.
    clippy::float_cmp,
    clippy::neg_cmp_op_on_partial_ord,
    // Models say what the manual says, in its words.
    clippy::manual_checked_ops,
    clippy::type_complexity
)]

use simt::{Arg, GlobalMemory, InstructionSet, LaunchConfig, Module};

const COUNT: usize = 512;

fn operands(seed: u64) -> Vec<u64> {
    let mut state = seed;
    let edges32 = [
        0u32,
        1,
        2,
        31,
        32,
        33,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff,
        0x3f80_0000,
        0xbf80_0000,
        0x7f80_0000,
        0xff80_0000,
        0x0000_0001,
        0x7f7f_ffff,
        0x4b80_0000,
        0x8000_0001,
    ];
    (0..COUNT)
        .map(|index| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let random = state ^ state >> 29;
            let low = match index % 4 {
                0 => edges32[(random >> 33) as usize % edges32.len()],
                // Floats of moderate size, so that sums and products stay in range.
                1 => (((random >> 40) as i32 - (1 << 23)) as f32 / 1024.0).to_bits(),
                2 => (random >> 32) as u32 & 63,
                _ => (random >> 32) as u32,
            };
            (random << 32) | u64::from(low)
        })
        .collect()
}

/// Bytes of a register kind.
fn bytes(kind: &str) -> u32 {
    match kind {
        "pred" => 0,
        _ => kind[1..].parse::<u32>().unwrap() / 8,
    }
}

/// Runs `body`, which computes %d from %a, %b, %c, on all operands.
fn run(body: &str, kinds: [&str; 4], inputs: &[Vec<u64>; 3], set: InstructionSet) -> Vec<u64> {
    let mut ptx = String::from(
        ".version 8.1\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)\n{\n\
         .reg .b64 %rd<16>; .reg .b32 %r<16>; .reg .pred %p<8>; .reg .f32 %f<8>;\n",
    );
    for (name, kind) in ["d", "a", "b", "c"].into_iter().zip(kinds) {
        ptx += &format!(".reg .{kind} %{name};\n");
    }
    ptx += "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r2, %r3, %r1; mul.wide.u32 %rd1, %r4, 8;\n";
    for (index, name) in ["a", "b", "c"].into_iter().enumerate() {
        let kind = kinds[index + 1];
        ptx += &format!("ld.param.u64 %rd2, [{name}]; add.u64 %rd3, %rd2, %rd1;\n");
        match bytes(kind) {
            0 => ptx += &format!("ld.global.u32 %r5, [%rd3]; and.b32 %r5, %r5, 1; setp.ne.u32 %{name}, %r5, 0;\n"),
            2 => ptx += &format!("ld.global.u16 %{name}, [%rd3];\n"),
            4 => ptx += &format!("ld.global.b32 %{name}, [%rd3];\n"),
            _ => ptx += &format!("ld.global.b64 %{name}, [%rd3];\n"),
        }
    }
    ptx += body;
    ptx += "\nld.param.u64 %rd2, [d]; add.u64 %rd3, %rd2, %rd1;\n";
    ptx += match bytes(kinds[0]) {
        0 => "selp.u32 %r5, 1, 0, %d; mov.u32 %r6, 0; st.global.v2.u32 [%rd3], {%r5, %r6};\n",
        2 => "cvt.u32.u16 %r5, %d; mov.u32 %r6, 0; st.global.v2.u32 [%rd3], {%r5, %r6};\n",
        4 => "mov.b32 %r5, %d; mov.u32 %r6, 0; st.global.v2.u32 [%rd3], {%r5, %r6};\n",
        _ => "st.global.b64 [%rd3], %d;\n",
    };
    ptx += "ret;\n}\n";
    let kernel =
        Module::parse(&ptx).and_then(|module| module.kernel("k")).unwrap_or_else(|error| panic!("{body}: {error}"));
    let mut memory = GlobalMemory::new();
    let mut arguments = vec![];
    for (name, data) in ["a", "b", "c"].into_iter().zip(inputs) {
        let pointer = memory.alloc(name, 8 * COUNT as u64, 8).unwrap();
        memory.upload(pointer, 0, data).unwrap();
        arguments.push(Arg::Pointer(pointer));
    }
    let out = memory.alloc("d", 8 * COUNT as u64, 8).unwrap();
    arguments.push(Arg::Pointer(out));
    let mut config = LaunchConfig::new(4, COUNT as u32 / 4);
    config.instruction_set = set;
    simt::launch(&kernel, &mut memory, &config, &arguments, &mut ()).unwrap_or_else(|error| panic!("{body}: {error}"));
    let mut result = vec![0u64; COUNT];
    memory.download(out, 0, &mut result).unwrap();
    result
}

fn check(body: &str, kinds: [&str; 4], model: impl Fn(u64, u64, u64) -> u64) {
    let inputs = [operands(1), operands(2), operands(3)];
    for set in [InstructionSet::Best, InstructionSet::Avx2, InstructionSet::Plain] {
        let found = run(body, kinds, &inputs, set);
        for index in 0..COUNT {
            let cut = |value: u64, kind: &str| match bytes(kind) {
                0 => value & 1,
                2 => value & 0xffff,
                4 => value & 0xffff_ffff,
                _ => value,
            };
            let [a, b, c] = [0, 1, 2].map(|which| cut(inputs[which][index], kinds[which + 1]));
            let expected = cut(model(a, b, c), kinds[0]);
            assert_eq!(
                found[index], expected,
                "{body} with {set:?}: a = {a:#x}, b = {b:#x}, c = {c:#x}; found {:#x}, expected {expected:#x}",
                found[index]
            );
        }
    }
}

const W: [&str; 4] = ["b32"; 4];
const L: [&str; 4] = ["b64"; 4];
const H: [&str; 4] = ["b16"; 4];
const F: [&str; 4] = ["f32"; 4];
const P: [&str; 4] = ["pred", "b32", "b32", "pred"];

fn f(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

/// Bits of a single-precision result; a GPU makes one NaN only.
fn bits(value: f32) -> u64 {
    u64::from(if value.is_nan() { 0x7fff_ffff } else { value.to_bits() })
}

fn i(value: u64) -> i32 {
    value as i32
}

fn u(value: u64) -> u32 {
    value as u32
}

#[test]
fn integers_of_32_bits() {
    check("add.s32 %d, %a, %b;", W, |a, b, _| a.wrapping_add(b));
    check("sub.u32 %d, %a, %b;", W, |a, b, _| a.wrapping_sub(b));
    check("mul.lo.s32 %d, %a, %b;", W, |a, b, _| a.wrapping_mul(b));
    check("mul.hi.s32 %d, %a, %b;", W, |a, b, _| ((i64::from(i(a)) * i64::from(i(b))) >> 32) as u64);
    check("mul.hi.u32 %d, %a, %b;", W, |a, b, _| (a * b) >> 32);
    check("mad.lo.s32 %d, %a, %b, %c;", W, |a, b, c| a.wrapping_mul(b).wrapping_add(c));
    check("mad.hi.u32 %d, %a, %b, %c;", W, |a, b, c| ((a * b) >> 32).wrapping_add(c));
    check("mad.hi.sat.s32 %d, %a, %b, %c;", W, |a, b, c| {
        (((i64::from(i(a)) * i64::from(i(b))) >> 32) + i64::from(i(c))).clamp(i32::MIN.into(), i32::MAX.into()) as u64
    });
    check("add.sat.s32 %d, %a, %b;", W, |a, b, _| i(a).saturating_add(i(b)) as u64);
    check("sub.sat.s32 %d, %a, %b;", W, |a, b, _| i(a).saturating_sub(i(b)) as u64);
    check("mul24.lo.s32 %d, %a, %b;", W, |a, b, _| (i64::from(i(a) << 8 >> 8) * i64::from(i(b) << 8 >> 8)) as u64);
    check("mul24.hi.u32 %d, %a, %b;", W, |a, b, _| ((a & 0xff_ffff) * (b & 0xff_ffff)) >> 16);
    check("mad24.lo.u32 %d, %a, %b, %c;", W, |a, b, c| ((a & 0xff_ffff) * (b & 0xff_ffff)).wrapping_add(c));
    check("sad.s32 %d, %a, %b, %c;", W, |a, b, c| u64::from(i(a).abs_diff(i(b))).wrapping_add(c));
    check("div.s32 %d, %a, %b;", W, |a, b, _| if b == 0 { u64::MAX } else { i(a).wrapping_div(i(b)) as u64 });
    check("div.u32 %d, %a, %b;", W, |a, b, _| if b == 0 { u64::MAX } else { a / b });
    check("rem.s32 %d, %a, %b;", W, |a, b, _| if b == 0 { a } else { i(a).wrapping_rem(i(b)) as u64 });
    check("rem.u32 %d, %a, %b;", W, |a, b, _| if b == 0 { a } else { a % b });
    check("abs.s32 %d, %a;", W, |a, _, _| i(a).wrapping_abs() as u64);
    check("neg.s32 %d, %a;", W, |a, _, _| i(a).wrapping_neg() as u64);
    check("min.s32 %d, %a, %b;", W, |a, b, _| i(a).min(i(b)) as u64);
    check("max.s32 %d, %a, %b;", W, |a, b, _| i(a).max(i(b)) as u64);
    check("min.u32 %d, %a, %b;", W, |a, b, _| a.min(b));
    check("max.u32 %d, %a, %b;", W, |a, b, _| a.max(b));
    check("and.b32 %d, %a, %b;", W, |a, b, _| a & b);
    check("or.b32 %d, %a, %b;", W, |a, b, _| a | b);
    check("xor.b32 %d, %a, %b;", W, |a, b, _| a ^ b);
    check("not.b32 %d, %a;", W, |a, _, _| !a);
    check("cnot.b32 %d, %a;", W, |a, _, _| u64::from(a == 0));
    check("shl.b32 %d, %a, %b;", W, |a, b, _| if b > 31 { 0 } else { a << b });
    check("shr.u32 %d, %a, %b;", W, |a, b, _| if b > 31 { 0 } else { a >> b });
    check("shr.s32 %d, %a, %b;", W, |a, b, _| (i(a) >> b.min(31)) as u64);
    check("mov.u32 %d, %a;", W, |a, _, _| a);
    check("add.s32 %d, %a, -7;", W, |a, _, _| a.wrapping_sub(7));
    check("add.s32 %d, %a, 0xFFFFFFFF;", W, |a, _, _| a.wrapping_sub(1));
}

#[test]
fn bits_of_32_bit_words() {
    check("popc.b32 %d, %a;", W, |a, _, _| a.count_ones().into());
    check("clz.b32 %d, %a;", W, |a, _, _| u(a).leading_zeros().into());
    check("brev.b32 %d, %a;", W, |a, _, _| u(a).reverse_bits().into());
    check("bfind.u32 %d, %a;", W, |a, _, _| if a == 0 { u64::MAX } else { u(a).ilog2().into() });
    check("bfind.s32 %d, %a;", W, |a, _, _| {
        let x = if i(a) < 0 { !u(a) } else { u(a) };
        if x == 0 { u64::MAX } else { x.ilog2().into() }
    });
    check("bfind.shiftamt.u32 %d, %a;", W, |a, _, _| if a == 0 { u64::MAX } else { u(a).leading_zeros().into() });
    check("bfe.u32 %d, %a, %b, %c;", W, |a, b, c| {
        let (start, length) = (b & 255, c & 255);
        (0..length.min(32)).filter(|&at| start + at < 32 && a >> (start + at) & 1 == 1).fold(0, |sum, at| sum | 1 << at)
    });
    check("bfe.s32 %d, %a, %b, %c;", W, |a, b, c| {
        let (start, length) = (b & 255, c & 255);
        if length == 0 {
            return 0;
        }
        let sign = a >> (start + length - 1).min(31) & 1;
        (0..32u64)
            .fold(0, |sum, at| sum | (if at < length && start + at < 32 { a >> (start + at) & 1 } else { sign }) << at)
    });
    check("bfi.b32 %d, %a, %b, %c, 5;", W, |a, b, c| {
        let start = c & 255;
        (0..32u64).fold(0, |sum, at| {
            sum | (if at >= start && at < start + 5 { a >> (at - start) & 1 } else { b >> at & 1 }) << at
        })
    });
    check("prmt.b32 %d, %a, %b, %c;", W, |a, b, c| {
        let both = (b << 32 | a).to_le_bytes();
        (0..4).fold(0, |sum, at| {
            let selector = c >> (4 * at) & 15;
            let byte = both[(selector & 7) as usize];
            let byte = if selector & 8 == 0 {
                byte
            } else if byte > 127 {
                255
            } else {
                0
            };
            sum | u64::from(byte) << (8 * at)
        })
    });
    check("lop3.b32 %d, %a, %b, %c, 0xE8;", W, |a, b, c| a & b | b & c | a & c);
    check("lop3.b32 %d, %a, %b, %c, 0x96;", W, |a, b, c| a ^ b ^ c);
    check("shf.l.wrap.b32 %d, %a, %b, %c;", W, |a, b, c| ((b << 32 | a) << (c & 31)) >> 32);
    check("shf.r.wrap.b32 %d, %a, %b, %c;", W, |a, b, c| (b << 32 | a) >> (c & 31));
    check("shf.l.clamp.b32 %d, %a, %b, %c;", W, |a, b, c| if c >= 32 { a } else { ((b << 32 | a) << c) >> 32 });
    check("shf.r.clamp.b32 %d, %a, %b, %c;", W, |a, b, c| if c >= 32 { b } else { (b << 32 | a) >> c });
    check("dp4a.s32.s32 %d, %a, %b, %c;", W, |a, b, c| {
        let dot: i32 = u(a)
            .to_le_bytes()
            .iter()
            .zip(u(b).to_le_bytes())
            .map(|(&x, y)| i32::from(x as i8) * i32::from(y as i8))
            .sum();
        dot.wrapping_add(i(c)) as u64
    });
    check("selp.b32 %d, %a, %b, %c;", ["b32", "b32", "b32", "pred"], |a, b, c| if c == 1 { a } else { b });
    check("slct.s32.s32 %d, %a, %b, %c;", W, |a, b, c| if i(c) >= 0 { a } else { b });
    check("set.lt.u32.s32 %d, %a, %b;", W, |a, b, _| if i(a) < i(b) { u64::MAX } else { 0 });
    check("set.ge.f32.u32 %d, %a, %b;", W, |a, b, _| if a >= b { 0x3f80_0000 } else { 0 });
}

#[test]
fn integers_of_64_bits() {
    let shift = ["b64", "b64", "b32", "b64"];
    check("add.s64 %d, %a, %b;", L, |a, b, _| a.wrapping_add(b));
    check("sub.s64 %d, %a, %b;", L, |a, b, _| a.wrapping_sub(b));
    check("mul.lo.u64 %d, %a, %b;", L, |a, b, _| a.wrapping_mul(b));
    check("mul.hi.u64 %d, %a, %b;", L, |a, b, _| ((u128::from(a) * u128::from(b)) >> 64) as u64);
    check("mul.hi.s64 %d, %a, %b;", L, |a, b, _| ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64);
    check("mad.lo.s64 %d, %a, %b, %c;", L, |a, b, c| a.wrapping_mul(b).wrapping_add(c));
    check("div.s64 %d, %a, %b;", L, |a, b, _| if b == 0 { u64::MAX } else { (a as i64).wrapping_div(b as i64) as u64 });
    check("rem.u64 %d, %a, %b;", L, |a, b, _| if b == 0 { a } else { a % b });
    check("min.s64 %d, %a, %b;", L, |a, b, _| (a as i64).min(b as i64) as u64);
    check("max.u64 %d, %a, %b;", L, |a, b, _| a.max(b));
    check("neg.s64 %d, %a;", L, |a, _, _| a.wrapping_neg());
    check("abs.s64 %d, %a;", L, |a, _, _| (a as i64).wrapping_abs() as u64);
    check("and.b64 %d, %a, %b;", L, |a, b, _| a & b);
    check("or.b64 %d, %a, %b;", L, |a, b, _| a | b);
    check("xor.b64 %d, %a, %b;", L, |a, b, _| a ^ b);
    check("not.b64 %d, %a;", L, |a, _, _| !a);
    check("shl.b64 %d, %a, %b;", shift, |a, b, _| if b > 63 { 0 } else { a << b });
    check("shr.u64 %d, %a, %b;", shift, |a, b, _| if b > 63 { 0 } else { a >> b });
    check("shr.s64 %d, %a, %b;", shift, |a, b, _| ((a as i64) >> b.min(63)) as u64);
    check("popc.b64 %d, %a;", ["b32", "b64", "b64", "b64"], |a, _, _| a.count_ones().into());
    check("clz.b64 %d, %a;", ["b32", "b64", "b64", "b64"], |a, _, _| a.leading_zeros().into());
    check("brev.b64 %d, %a;", L, |a, _, _| a.reverse_bits());
    check("mul.wide.s32 %d, %a, %b;", ["b64", "b32", "b32", "b64"], |a, b, _| {
        (i64::from(i(a)) * i64::from(i(b))) as u64
    });
    check("mul.wide.u32 %d, %a, %b;", ["b64", "b32", "b32", "b64"], |a, b, _| a * b);
    check("mad.wide.s32 %d, %a, %b, %c;", ["b64", "b32", "b32", "b64"], |a, b, c| {
        ((i64::from(i(a)) * i64::from(i(b))) as u64).wrapping_add(c)
    });
    check("mad.wide.u32 %d, %a, %b, %c;", ["b64", "b32", "b32", "b64"], |a, b, c| (a * b).wrapping_add(c));
    check("selp.b64 %d, %a, %b, %c;", ["b64", "b64", "b64", "pred"], |a, b, c| if c == 1 { a } else { b });
    check("mov.b64 %d, {%a, %b};", ["b64", "b32", "b32", "b64"], |a, b, _| b << 32 | a);
    check("mov.b64 {%r8, %r9}, %a; xor.b32 %d, %r8, %r9;", ["b32", "b64", "b64", "b64"], |a, _, _| a ^ a >> 32);
}

#[test]
fn integers_of_16_bits() {
    check("add.s16 %d, %a, %b;", H, |a, b, _| a.wrapping_add(b));
    check("sub.u16 %d, %a, %b;", H, |a, b, _| a.wrapping_sub(b));
    check("mul.lo.s16 %d, %a, %b;", H, |a, b, _| a.wrapping_mul(b));
    check("mul.hi.s16 %d, %a, %b;", H, |a, b, _| ((i32::from(a as i16) * i32::from(b as i16)) >> 16) as u64);
    check("mul.wide.s16 %d, %a, %b;", ["b32", "b16", "b16", "b16"], |a, b, _| {
        (i32::from(a as i16) * i32::from(b as i16)) as u64
    });
    check("mad.lo.u16 %d, %a, %b, %c;", H, |a, b, c| a.wrapping_mul(b).wrapping_add(c));
    check("min.s16 %d, %a, %b;", H, |a, b, _| (a as i16).min(b as i16) as u64);
    check("and.b16 %d, %a, %b;", H, |a, b, _| a & b);
    check("shl.b16 %d, %a, %b;", ["b16", "b16", "b32", "b16"], |a, b, _| if b > 15 { 0 } else { a << b });
    check("shr.s16 %d, %a, %b;", ["b16", "b16", "b32", "b16"], |a, b, _| (i32::from(a as i16) >> b.min(15)) as u64);
    check("shr.u16 %d, %a, %b;", ["b16", "b16", "b32", "b16"], |a, b, _| if b > 15 { 0 } else { a >> b });
    check("neg.s16 %d, %a;", H, |a, _, _| a.wrapping_neg());
}

#[test]
fn single_precision() {
    check("add.f32 %d, %a, %b;", F, |a, b, _| bits(f(a) + f(b)));
    check("add.rn.f32 %d, %a, %b;", F, |a, b, _| bits(f(a) + f(b)));
    check("sub.f32 %d, %a, %b;", F, |a, b, _| bits(f(a) - f(b)));
    check("mul.f32 %d, %a, %b;", F, |a, b, _| bits(f(a) * f(b)));
    check("fma.rn.f32 %d, %a, %b, %c;", F, |a, b, c| bits(f(a).mul_add(f(b), f(c))));
    check("fma.rn.f32 %f1, %a, %b, %c; fma.rn.f32 %d, %f1, %b, %a;", F, |a, b, c| {
        bits(f(bits(f(a).mul_add(f(b), f(c)))).mul_add(f(b), f(a)))
    });
    check("div.rn.f32 %d, %a, %b;", F, |a, b, _| bits(f(a) / f(b)));
    check("div.full.f32 %d, %a, %b;", F, |a, b, _| bits(f(a) / f(b)));
    check("neg.f32 %d, %a;", F, |a, _, _| a ^ 1 << 31);
    check("abs.f32 %d, %a;", F, |a, _, _| a & 0x7fff_ffff);
    check("sqrt.rn.f32 %d, %a;", F, |a, _, _| bits(f(a).sqrt()));
    check("rcp.rn.f32 %d, %a;", F, |a, _, _| bits(1.0 / f(a)));
    check("min.f32 %d, %a, %b;", F, |a, b, _| {
        if f(a).is_nan() && f(b).is_nan() {
            0x7fff_ffff
        } else if f(a) == f(b) {
            a | b
        } else {
            bits(f(a).min(f(b)))
        }
    });
    check("max.f32 %d, %a, %b;", F, |a, b, _| {
        if f(a).is_nan() && f(b).is_nan() {
            0x7fff_ffff
        } else if f(a) == f(b) {
            a & b
        } else {
            bits(f(a).max(f(b)))
        }
    });
    check("max.NaN.f32 %d, %a, %b;", F, |a, b, _| {
        if f(a).is_nan() || f(b).is_nan() {
            0x7fff_ffff
        } else if f(a) == f(b) {
            a & b
        } else {
            bits(f(a).max(f(b)))
        }
    });
    let flush = |x: f32| if x.is_subnormal() { 0.0f32.copysign(x) } else { x };
    check("mul.ftz.f32 %d, %a, %b;", F, move |a, b, _| bits(flush(flush(f(a)) * flush(f(b)))));
    check("add.sat.f32 %d, %a, %b;", F, |a, b, _| {
        let sum = f(a) + f(b);
        bits(if sum > 0.0 { sum.min(1.0) } else { 0.0 })
    });
    check("copysign.f32 %d, %a, %b;", F, |a, b, _| a & 1 << 31 | b & 0x7fff_ffff);
    check(
        "selp.f32 %d, %a, 0f3F800000, %c;",
        ["f32", "f32", "f32", "pred"],
        |a, _, c| if c == 1 { a } else { 0x3f80_0000 },
    );
    check("add.f32 %d, %a, 2.5;", F, |a, _, _| bits(f(a) + 2.5));
}

/// Directed rounding against exact arithmetic in double precision, where sums and products of singles of like size are exact.
#[test]
fn rounding_directions() {
    let exact = |value: f64, mode: &str| -> u64 {
        let near = value as f32;
        let wide = f64::from(near);
        let low = if wide > value { near.next_down() } else { near };
        let high = if wide < value { near.next_up() } else { near };
        bits(match mode {
            "rm" => low,
            "rp" => high,
            _ if value < 0.0 => high,
            _ => low,
        })
    };
    for mode in ["rz", "rm", "rp"] {
        // Products of singles are exact in double unless they overflow or vanish; the operands are cut to avoid that.
        let small = "and.b32 %r8, %r8, 0x83FFFFFF; or.b32 %r8, %r8, 0x3C000000; and.b32 %r9, %r9, 0x83FFFFFF; or.b32 %r9, %r9, 0x3C000000; mov.b32 %f1, %r8; mov.b32 %f2, %r9;";
        let cut = |x: u64| f64::from(f(x & 0x83ff_ffff | 0x3c00_0000));
        check(&format!("mov.b32 %r8, %a; mov.b32 %r9, %b; {small} mul.{mode}.f32 %d, %f1, %f2;"), F, |a, b, _| {
            exact(cut(a) * cut(b), mode)
        });
        check(&format!("mov.b32 %r8, %a; mov.b32 %r9, %b; {small} add.{mode}.f32 %d, %f1, %f2;"), F, |a, b, _| {
            let sum = cut(a) + cut(b);
            exact(sum, mode)
        });
    }
}

#[test]
fn double_precision() {
    let d = f64::from_bits;
    let same = |x: f64| if x.is_nan() { 0 } else { x.to_bits() };
    // NaN results are compared as NaN only: the payload is the host's affair.
    let nan = "testp.notanumber.f64 %p1, %d; @%p1 mov.b64 %d, 0;";
    check(&format!("add.f64 %d, %a, %b; {nan}"), L_F64, move |a, b, _| same(d(a) + d(b)));
    check(&format!("sub.f64 %d, %a, %b; {nan}"), L_F64, move |a, b, _| same(d(a) - d(b)));
    check(&format!("mul.f64 %d, %a, %b; {nan}"), L_F64, move |a, b, _| same(d(a) * d(b)));
    check(&format!("fma.rn.f64 %d, %a, %b, %c; {nan}"), L_F64, move |a, b, c| same(d(a).mul_add(d(b), d(c))));
    check(&format!("div.rn.f64 %d, %a, %b; {nan}"), L_F64, move |a, b, _| same(d(a) / d(b)));
    check(&format!("sqrt.rn.f64 %d, %a; {nan}"), L_F64, move |a, _, _| same(d(a).sqrt()));
}
const L_F64: [&str; 4] = ["f64"; 4];

#[test]
fn conversions() {
    let to64 = ["b64", "b32", "b32", "b32"];
    let to32 = ["b32", "b64", "b64", "b64"];
    check("cvt.s64.s32 %d, %a;", to64, |a, _, _| i64::from(i(a)) as u64);
    check("cvt.u64.u32 %d, %a;", to64, |a, _, _| a);
    check("cvt.u32.u64 %d, %a;", to32, |a, _, _| a);
    check("cvt.s32.s8 %d, %a;", W, |a, _, _| i64::from(a as i8) as u64);
    check("cvt.u32.u8 %d, %a;", W, |a, _, _| a & 255);
    check("cvt.u32.u16 %d, %a;", ["b32", "b16", "b16", "b16"], |a, _, _| a);
    check("cvt.s32.s16 %d, %a;", ["b32", "b16", "b16", "b16"], |a, _, _| i64::from(a as i16) as u64);
    check("cvt.u16.u32 %d, %a;", ["b16", "b32", "b32", "b32"], |a, _, _| a);
    check("cvt.sat.s8.s32 %d, %a;", W, |a, _, _| i(a).clamp(-128, 127) as u64);
    check("cvt.sat.u8.s32 %d, %a;", W, |a, _, _| i(a).clamp(0, 255) as u64);
    check("cvt.rn.f32.s32 %d, %a;", W, |a, _, _| bits(i(a) as f32));
    check("cvt.rn.f32.u32 %d, %a;", W, |a, _, _| bits(u(a) as f32));
    check("cvt.rn.f32.s64 %d, %a;", to32, |a, _, _| bits(a as i64 as f32));
    check("cvt.rz.f32.u32 %d, %a;", W, |a, _, _| {
        let near = u(a) as f32;
        bits(if f64::from(near) > f64::from(u(a)) { near.next_down() } else { near })
    });
    check("cvt.rzi.s32.f32 %d, %a;", W, |a, _, _| f(a) as i32 as u64);
    check("cvt.rzi.u32.f32 %d, %a;", W, |a, _, _| f(a) as u32 as u64);
    check("cvt.rni.s32.f32 %d, %a;", W, |a, _, _| f(a).round_ties_even() as i32 as u64);
    check("cvt.rmi.s32.f32 %d, %a;", W, |a, _, _| f(a).floor() as i32 as u64);
    check("cvt.rpi.s32.f32 %d, %a;", W, |a, _, _| f(a).ceil() as i32 as u64);
    check("cvt.rni.f32.f32 %d, %a;", F, |a, _, _| bits(f(a).round_ties_even()));
    check("cvt.rmi.f32.f32 %d, %a;", F, |a, _, _| bits(f(a).floor()));
    check(
        "cvt.f64.f32 %d, %a; testp.notanumber.f32 %p1, %a; @%p1 mov.b64 %d, 0;",
        ["f64", "f32", "f32", "f32"],
        |a, _, _| {
            if f(a).is_nan() { 0 } else { f64::from(f(a)).to_bits() }
        },
    );
    check("cvt.rn.f32.f64 %d, %a;", ["f32", "f64", "f64", "f64"], |a, _, _| bits(f64::from_bits(a) as f32));
    check("cvt.rn.f64.s32 %d, %a;", ["f64", "b32", "b32", "b32"], |a, _, _| f64::from(i(a)).to_bits());
    // Every finite half is a single, and comes back the same.
    check("cvt.f32.f16 %f1, %a; cvt.rn.f16.f32 %d, %f1;", H, |a, _, _| if a & 0x7fff > 0x7c00 { 0x7fff } else { a });
    check("cvt.rn.bf16.f32 %d, %a;", ["b16", "f32", "f32", "f32"], |a, _, _| {
        if f(a).is_nan() { 0x7fff } else { (a + 0x7fff + (a >> 16 & 1)) >> 16 }
    });
}

#[test]
fn comparisons() {
    check("setp.lt.s32 %d, %a, %b;", P, |a, b, _| (i(a) < i(b)).into());
    check("setp.ge.u32 %d, %a, %b;", P, |a, b, _| (a >= b).into());
    check("setp.hi.u32 %d, %a, %b;", P, |a, b, _| (a > b).into());
    check("setp.eq.b32 %d, %a, %b;", P, |a, b, _| (a == b).into());
    check("setp.ne.s32 %d, %a, %b;", P, |a, b, _| (a != b).into());
    check("setp.le.and.s32 %d, %a, %b, %c;", P, |a, b, c| (i(a) <= i(b) && c == 1).into());
    check("setp.gt.or.s32 %d, %a, %b, !%c;", P, |a, b, c| (i(a) > i(b) || c == 0).into());
    check("setp.eq.xor.s32 %d, %a, %b, %c;", P, |a, b, c| ((a == b) ^ (c == 1)).into());
    check("setp.lt.s32 %p1|%d, %a, %b;", P, |a, b, _| (i(a) >= i(b)).into());
    let float = ["pred", "f32", "f32", "pred"];
    check("setp.lt.f32 %d, %a, %b;", float, |a, b, _| (f(a) < f(b)).into());
    check("setp.ltu.f32 %d, %a, %b;", float, |a, b, _| (!(f(a) >= f(b))).into());
    check("setp.neu.f32 %d, %a, %b;", float, |a, b, _| (f(a) != f(b)).into());
    check("setp.ne.f32 %d, %a, %b;", float, |a, b, _| (f(a) < f(b) || f(a) > f(b)).into());
    check("setp.num.f32 %d, %a, %b;", float, |a, b, _| (!f(a).is_nan() && !f(b).is_nan()).into());
    check("setp.nan.f32 %d, %a, %b;", float, |a, b, _| (f(a).is_nan() || f(b).is_nan()).into());
    let long = ["pred", "b64", "b64", "pred"];
    check("setp.lt.s64 %d, %a, %b;", long, |a, b, _| ((a as i64) < b as i64).into());
    check("setp.gt.u64 %d, %a, %b;", long, |a, b, _| (a > b).into());
    let short = ["pred", "b16", "b16", "pred"];
    check("setp.lt.s16 %d, %a, %b;", short, |a, b, _| ((a as i16) < b as i16).into());
    check("setp.lt.s32 %p1, %a, %b; and.pred %d, %p1, %c;", P, |a, b, c| (i(a) < i(b) && c == 1).into());
    check("setp.lt.s32 %p1, %a, %b; or.pred %d, %p1, %c;", P, |a, b, c| (i(a) < i(b) || c == 1).into());
    check("setp.lt.s32 %p1, %a, %b; xor.pred %d, %p1, %c;", P, |a, b, c| ((i(a) < i(b)) ^ (c == 1)).into());
    check("setp.lt.s32 %p1, %a, %b; not.pred %d, %p1;", P, |a, b, _| (i(a) >= i(b)).into());
}

/// Approximations are within the error the PTX manual allows (2 units in the last place, or 2⁻²⁰ for the rest).
#[test]
fn approximations() {
    let inputs = [operands(1), operands(2), operands(3)];
    let cases: [(&str, fn(f64) -> f64); 6] = [
        ("rcp.approx.f32", |x| 1.0 / x),
        ("rsqrt.approx.f32", |x| 1.0 / x.sqrt()),
        ("sqrt.approx.f32", f64::sqrt),
        ("ex2.approx.f32", f64::exp2),
        ("lg2.approx.f32", f64::log2),
        ("tanh.approx.f32", f64::tanh),
    ];
    for (name, model) in cases {
        let found = run(&format!("{name} %d, %a;"), F, &inputs, InstructionSet::Best);
        for (&a, &found) in inputs[0].iter().zip(&found) {
            let (found, expected) = (f64::from(f(found)), model(f64::from(f(a))));
            let expected32 = f64::from(expected as f32);
            let close = (found - expected32).abs() <= expected32.abs() * 1e-6
                || found == expected32
                || found.is_nan() && expected.is_nan();
            assert!(close, "{name} of {}: {found}, expected {expected}", f(a));
        }
    }
}

#[test]
fn hyperbolic_tangent_of_halves() {
    let value = |bits: u64| {
        let (exponent, fraction) = ((bits >> 10 & 31) as i32, (bits & 1023) as f64);
        let size = match exponent {
            0 => fraction * 2f64.powi(-24),
            31 if fraction > 0.0 => f64::NAN,
            31 => f64::INFINITY,
            _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
        };
        if bits >> 15 & 1 == 1 { -size } else { size }
    };
    let nearest = |exact: f64| {
        let size = exact.abs();
        // The largest half that is not above, bit by bit, and its upper neighbour; of two as near the even one.
        let low = (0..15).rev().fold(0, |low, bit| if value(low | 1 << bit) <= size { low | 1 << bit } else { low });
        let (below, above) = (size - value(low), value(low + 1) - size);
        let rounded = if below < above || below == above && low & 1 == 0 { low } else { low + 1 };
        if exact.is_nan() { 0x7fff } else { rounded | u64::from(exact.is_sign_negative()) << 15 }
    };
    check("tanh.approx.f16 %d, %a;", H, |a, _, _| nearest(value(a).tanh()));
    check("tanh.approx.f16x2 %d, %a;", W, |a, _, _| {
        nearest(value(a & 0xffff).tanh()) | nearest(value(a >> 16).tanh()) << 16
    });
}

/// Instructions under a guard leave the other lanes alone.
#[test]
fn guards() {
    check(
        "mov.b32 %d, %b; @%p1 bra SKIP; setp.lt.u32 %p1, %a, 100; @%p1 mov.b32 %d, %a; @!%p1 add.u32 %d, %a, %b; SKIP:",
        W,
        |a, b, _| {
            if a < 100 { a } else { a.wrapping_add(b) }
        },
    );
    check("setp.lt.s32 %p1, %a, %b; mov.b32 %d, 1; @%p1 fma.rn.f32 %d, %a, %b, %c;", F, |a, b, c| {
        if i(a) < i(b) { bits(f(a).mul_add(f(b), f(c))) } else { 1 }
    });
    check(
        "setp.lt.s32 %p1, %a, %b; mov.b64 %d, 0; @%p1 cvt.u64.u32 %d, %a;",
        ["b64", "b32", "b32", "b32"],
        |a, b, _| if i(a) < i(b) { a } else { 0 },
    );
}

/// The comparison with the model can fail.
#[test]
#[should_panic(expected = "found")]
fn a_wrong_model_is_noticed() {
    check("add.s32 %d, %a, %b;", W, |a, b, _| a.wrapping_add(b) ^ u64::from(a == 33));
}
