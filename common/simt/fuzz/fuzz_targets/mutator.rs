//! Changes a program as a program: statements, operands, types and numbers, so that most of what is tried gets past the parser.

use libfuzzer_sys::fuzzer_mutate;

/// What a text that is no program becomes: a kernel with registers, arrays and labels for the statements to come.
const FRAME: &str = "\
.version 8.1
.target sm_80
.address_size 64
.global .align 16 .b8 g[256];
.entry k(.param .u64 a, .param .u64 b, .param .u32 n)
{
.reg .pred %p<4>;
.reg .b16 %rs<4>;
.reg .b32 %r<8>;
.reg .b64 %rd<8>;
.reg .f32 %f<8>;
.reg .f64 %fd<4>;
.shared .align 16 .b8 s[512];
.local .align 16 .b8 l[64];
ld.param.u64 %rd1, [a];
ld.param.u64 %rd2, [b];
ld.param.u32 %r1, [n];
mov.u32 %r2, %tid.x;
mov.u32 %r3, s;
mov.u64 %rd3, g;
mul.wide.u32 %rd4, %r2, 4;
add.s64 %rd1, %rd1, %rd4;
L0:
ld.global.f32 %f1, [%rd1];
L1:
bar.sync 0;
L2:
ret;
}
";

/// Statements that are put in, with registers called as NVRTC calls them; registers and numbers change afterwards.
const STATEMENTS: &[&str] = &[
    "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd2];",
    "st.global.f32 [%rd1], %f1;",
    "ld.shared.v2.u32 {%r4, %r5}, [%r3+8];",
    "st.shared.u32 [%r3], %r4;",
    "st.shared.v4.f32 [%r3+16], {%f1, %f2, %f3, %f4};",
    "ld.local.u32 %r4, [l+4];",
    "st.local.u64 [l+8], %rd4;",
    "ld.u32 %r5, [%rd2];",
    "st.u8 [%rd2+3], %r5;",
    "atom.global.add.u32 %r6, [%rd1], %r4;",
    "atom.shared.cas.b32 %r6, [%r3], %r4, %r5;",
    "red.global.max.s32 [%rd1], %r4;",
    "cp.async.ca.shared.global [%r3], [%rd2], 16;",
    "cp.async.ca.shared.global [%r3], [%rd2], 4, %r4;",
    "cp.async.commit_group;",
    "cp.async.wait_group 1;",
    "cp.async.wait_all;",
    "bar.sync 0;",
    "bar.sync 1, 32;",
    "bar.arrive 1, 64;",
    "bar.red.popc.u32 %r6, 0, %p1;",
    "barrier.cta.sync %r4;",
    "membar.gl;",
    "fence.acq_rel.gpu;",
    "shfl.sync.bfly.b32 %r5|%p2, %r4, 1, 31, -1;",
    "vote.sync.ballot.b32 %r5, %p1, -1;",
    "match.any.sync.b32 %r5, %r4, -1;",
    "redux.sync.add.s32 %r5, %r4, -1;",
    "bar.warp.sync %r4;",
    "activemask.b32 %r4;",
    "setp.lt.u32 %p1, %r2, %r1;",
    "setp.eq.and.f32 %p1|%p2, %f1, %f2, %p3;",
    "selp.b32 %r4, %r5, %r6, %p1;",
    "@%p1 bra L0;",
    "@!%p1 bra L1;",
    "bra L2;",
    "bra.uni L0;",
    "@%p1 ret;",
    "exit;",
    "trap;",
    "fma.rn.f32 %f1, %f2, %f3, %f4;",
    "fma.rn.f64 %fd1, %fd2, %fd3, %fd0;",
    "mad.lo.s32 %r4, %r5, %r6, %r7;",
    "mad.wide.u32 %rd4, %r5, %r6, %rd5;",
    "div.rn.f32 %f1, %f2, %f3;",
    "div.s32 %r4, %r5, %r6;",
    "rem.u64 %rd4, %rd5, %rd6;",
    "shl.b32 %r4, %r5, %r6;",
    "shr.s64 %rd4, %rd5, %r6;",
    "bfe.u32 %r4, %r5, %r6, %r7;",
    "bfi.b32 %r4, %r5, %r6, 3, 9;",
    "prmt.b32 %r4, %r5, %r6, 0x5410;",
    "lop3.b32 %r4, %r5, %r6, %r7, 0x96;",
    "shf.l.wrap.b32 %r4, %r5, %r6, %r7;",
    "dp4a.s32.s32 %r4, %r5, %r6, %r7;",
    "popc.b64 %r4, %rd5;",
    "cvt.rn.f32.s32 %f1, %r4;",
    "cvt.rzi.s32.f32 %r4, %f1;",
    "cvt.rn.f16x2.f32 %r4, %f1, %f2;",
    "cvta.shared.u64 %rd5, %rd4;",
    "cvta.to.global.u64 %rd5, %rd4;",
    "isspacep.shared %p1, %rd5;",
    "mov.b64 {%r4, %r5}, %rd4;",
    "mov.b64 %rd4, {%r4, %r5};",
    "mov.u32 %r4, %clock;",
    "mov.u32 %r4, %laneid;",
    "add.cc.u32 %r4, %r5, %r6;",
    "addc.u32 %r4, %r5, %r6;",
    "add.rn.f16x2 %r4, %r5, %r6;",
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%f0, %f1, %f2, %f3};",
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4, %r5, %r6, %r7}, [%r3];",
    "mbarrier.init.shared.b64 [%r3], 32;",
    "mbarrier.arrive.shared.b64 %rd4, [%r3];",
    "mbarrier.test_wait.shared.b64 %p1, [%r3], %rd4;",
    ".shared .align 4 .b8 t[64];",
    ".reg .b32 %q<3>;",
    "{",
    "}",
    "L3:",
];

/// Types and modifiers: one takes the place of another.
const WORDS: &[&str] = &[
    "u8", "s8", "b8", "u16", "s16", "b16", "u32", "s32", "b32", "u64", "s64", "b64", "f16", "f16x2", "bf16", "bf16x2",
    "f32", "f64", "pred", "global", "shared", "local", "param", "const", "rn", "rz", "rm", "rp", "rni", "rzi", "ftz",
    "sat", "lo", "hi", "wide", "eq", "ne", "lt", "leu", "nan", "num", "v2", "v4", "cta", "gpu", "sys", "relaxed",
    "acquire", "release", "acq_rel", "volatile", "ca", "cg", "sync", "arrive", "approx", "full", "add", "min", "max",
    "and", "or", "xor", "exch", "cas", "inc", "dec",
];

const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "4",
    "7",
    "8",
    "16",
    "31",
    "32",
    "33",
    "63",
    "64",
    "255",
    "256",
    "1023",
    "1024",
    "4095",
    "4096",
    "65535",
    "65536",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "-1",
    "-4",
    "0f7FC00000",
    "0f00000001",
    "0f7F800000",
    "0d7FF0000000000000",
];

/// A generator of numbers: splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }
}

/// Changes the first `size` bytes in place; gives the new size.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let mut random = Random(seed.into());
    if random.below(20) == 0 {
        return fuzzer_mutate(data, size, max_size);
    }
    let text = String::from_utf8_lossy(&data[..size]).into_owned();
    let mut lines: Vec<String> = if text.contains(".entry") { &text } else { FRAME }.lines().map(Into::into).collect();
    for _ in 0..=random.below(4) {
        change(&mut lines, &mut random);
    }
    let text = lines.join("\n");
    let end = text.len().min(max_size).min(data.len());
    data[..end].copy_from_slice(&text.as_bytes()[..end]);
    end
}

fn change(lines: &mut Vec<String>, random: &mut Random) {
    let at = random.below(lines.len());
    let other = random.below(lines.len());
    match random.below(12) {
        0 => lines.swap(at, other),
        1 => drop(lines.remove(at)),
        2 => lines.insert(at, lines[other].clone()),
        3..=6 => {
            let mut line = random.pick(STATEMENTS).to_owned();
            if random.below(4) == 0 {
                line = format!("@%p{} {line}", random.below(4));
            }
            if random.below(2) == 0 {
                line = replaced(&line, random);
            }
            lines.insert(at, line);
        }
        _ => lines[at] = replaced(&lines[at], random),
    }
    if lines.is_empty() {
        lines.push(String::new());
    }
}

/// The line with one of its words, numbers or registers replaced.
fn replaced(line: &str, random: &mut Random) -> String {
    let mut pieces: Vec<String> = vec![String::new()];
    for c in line.chars() {
        let joins =
            |last: &str| last.ends_with(|l: char| l.is_alphanumeric()) == c.is_alphanumeric() && c.is_alphanumeric();
        match pieces.last_mut() {
            Some(last) if joins(last) => last.push(c),
            _ => pieces.push(c.into()),
        }
    }
    let numbered = |piece: &String| piece.ends_with(|c: char| c.is_ascii_digit());
    let wanted: Vec<usize> = match random.below(3) {
        0 => (0..pieces.len()).filter(|&i| WORDS.contains(&&*pieces[i])).collect(),
        1 => (0..pieces.len())
            .filter(|&i| numbered(&pieces[i]) && pieces[i].starts_with(|c: char| c.is_ascii_digit()))
            .collect(),
        _ => (0..pieces.len())
            .filter(|&i| numbered(&pieces[i]) && pieces[i].starts_with(|c: char| c.is_alphabetic()))
            .collect(),
    };
    if let Some(&at) = wanted.get(random.below(wanted.len())) {
        let piece = pieces[at].clone();
        pieces[at] = if WORDS.contains(&&*piece) {
            random.pick(WORDS).into()
        } else if piece.starts_with(|c: char| c.is_ascii_digit()) {
            random.pick(NUMBERS).into()
        } else {
            format!("{}{}", piece.trim_end_matches(|c: char| c.is_ascii_digit()), random.below(9))
        };
    }
    pieces.concat()
}
