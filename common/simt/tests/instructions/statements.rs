//! Pieces of PTX with a model of one line each: constants, guards, vectors packed and unpacked.

use super::cases::Case;
use super::{Expected, wrong};
use simt::InstructionSet;

/// `body` computes %d from %a, %b and %c, which have the given types.
fn check(body: &str, types: &[&str], model: impl Fn(u64, u64, u64) -> u64) {
    let case = Case::new(body, types);
    for set in [InstructionSet::Best, InstructionSet::Avx2, InstructionSet::Plain] {
        let message = wrong(&case, set, |_, [a, b, c, _]| Some(Expected::Bits(model(a, b, c))));
        assert_eq!(message, None);
    }
}

const W: [&str; 4] = ["b32"; 4];

fn f(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn bits(value: f32) -> u64 {
    u64::from(if value.is_nan() { 0x7fff_ffff } else { value.to_bits() })
}

#[test]
fn constants() {
    check("add.s32 %d, %a, -7;", &W, |a, _, _| a.wrapping_sub(7));
    check("add.s32 %d, %a, 0xFFFFFFFF;", &W, |a, _, _| a.wrapping_sub(1));
    check("add.f32 %d, %a, 2.5;", &["f32", "f32"], |a, _, _| bits(f(a) + 2.5));
    let choice = ["f32", "f32", "f32", "pred"];
    check("selp.f32 %d, %a, 0f3F800000, %c;", &choice, |a, _, c| if c == 1 { a } else { 0x3f80_0000 });
    check("selp.b32 %d, %a, %b, 0;", &W, |_, b, _| b);
    check("add.s32 %d, %a, 1 + 2*3 - (7 & ~3) / 2;", &W, |a, _, _| a.wrapping_add(5));
    check("add.s32 %d, %a, (1<<4|3) - -WARP_SZ + !0;", &W, |a, _, _| a.wrapping_add(19 + 32 + 1));
}

#[test]
fn floats_as_the_assembler_reads_them() {
    // As `ptxas` 12.1 takes them.
    for (constant, number) in [
        ("1e3", 1e3),
        ("1e+06", 1e6),
        ("1e-05", 1e-5),
        ("1E5", 1e5),
        ("-1e-3", -1e-3),
        (".5", 0.5),
        ("-.5e-1", -0.05),
        ("5.", 5.0),
        ("01e1", 10.0),
        ("0f3F800000", 1.0),
    ] {
        check(&format!("mov.f32 %d, {constant};"), &["f32", "f32"], |_, _, _| bits(number as f32));
        // A number of single precision is just that in double precision.
        check(&format!("mov.f64 %d, {constant};"), &["f64", "f64"], |_, _, _| f64::to_bits(number));
    }
    check("add.s32 %d, %a, 0x1e-3;", &W, |a, _, _| a.wrapping_add(0x1b));
    check("add.s32 %d, %a, 0x1E+3;", &W, |a, _, _| a.wrapping_add(0x21));
}

#[test]
fn constants_are_signed_or_unsigned_and_bind_as_the_assembler_says() {
    // Each was given to `ptxas` 12.1, which left this number in its code.
    for (constant, number) in [
        ("1 > 2", 0),
        ("1 < 2 < 3", 1),
        ("1 | 2 == 2", 1),
        ("6 & 3 == 3", 0),
        ("1 << 2 > 3", 1),
        ("5 == 5 == 1", 1),
        ("2 && 4", 1),
        ("0 || 0", 0),
        ("1 ? 0 ? 1 : 2 : 3", 2),
        ("1 + 1 > 1 ? 4 : 5", 4),
        ("1 ? 2 : 3 ? 4 : 5", 2),
        ("-1 > 0", 0),
        ("-1 > 0U", 1),
        ("-1 > 0xFFFFFFFFFFFFFFFF", 0),
        ("-1 == 0xFFFFFFFFFFFFFFFF", 1),
        ("1 >= -1U", 0),
        ("(.u64)-1 > 0", 1),
        ("(.s64)0xFFFFFFFFFFFFFFFF > 0", 0),
        ("-8 >> 1", -4),
        ("-8U >> 1", 0x7fff_ffff_ffff_fffc),
        ("(-8) >> 1U", -4),
        ("~0 >> 4", 0x0fff_ffff_ffff_ffff),
        ("(-1 & -1) >> 4", -1),
        ("(-1 | 0U) >> 4", 0x0fff_ffff_ffff_ffff),
        ("(1 ? -1 : 0U) >> 4", -1),
        ("-7 / 2", -3),
        ("-7 / 2U", 0x7fff_ffff_ffff_fffc),
        ("-7 % 3", 0),
        ("(-1 % 5 - 9) >> 4", 0x0fff_ffff_ffff_ffff),
        ("(1U > 0U) - 9 >> 4", -1),
        ("1 << 64", 1),
        ("1 << -1", i64::MIN),
        ("-1 >> 70", -1),
        ("100 / 10 / 5", 2),
        ("2 - 3 - 4", -5),
        ("017 + 0b101", 20),
        ("(+5U)", 5),
    ] {
        check(&format!("mov.b64 %d, {constant};"), &["b64", "b64"], |_, _, _| number as u64);
    }
}

#[test]
fn vectors() {
    check("mov.b64 %d, {%a, %b};", &["b64", "b32", "b32"], |a, b, _| b << 32 | a);
    check("mov.b32 %d, {%a, %b};", &["b32", "b16", "b16"], |a, b, _| b << 16 | a);
    check("{.reg .b32 %lo, %hi; mov.b64 {%lo, %hi}, %a; xor.b32 %d, %lo, %hi;}", &["b32", "b64"], |a, _, _| {
        a & 0xffff_ffff ^ a >> 32
    });
    check("{.reg.b16 %lo, %hi; mov.b32 {%lo, %hi}, %a; mov.b32 %d, {%hi, %lo};}", &W, |a, _, _| a << 16 | a >> 16);
    check("mov.b32 {_, %d}, %a;", &["b16", "b32"], |a, _, _| a >> 16);
}

/// Vectors of registers, whose elements have names of their own.
#[test]
fn vector_registers() {
    check(
        "{.reg .v2 .b32 %v; mov.b64 %v, %a; xor.b32 %v.x, %v.x, %v.y; mov.b64 %d, %v;}",
        &["b64", "b64"],
        |a, _, _| a ^ a >> 32,
    );
    check(
        "{.reg .v4 .b16 %v<2>; mov.b64 %v1, %a; mov.b64 %d, {%v1.w, %v1.b, %v1.y, %v1.r};}",
        &["b64", "b64"],
        |a, _, _| (a >> 48) | (a >> 16 & 0xffff_0000) | (a << 16 & 0xffff_0000_0000) | a << 48,
    );
}

/// Sums of several words, which hand their carry on.
#[test]
fn carries() {
    let halves = "{.reg .b32 %al, %ah, %bl, %bh, %l, %h; mov.b64 {%al, %ah}, %a; mov.b64 {%bl, %bh}, %b;";
    let long = ["b64", "b64", "b64"];
    check(
        &format!("{halves} add.cc.u32 %l, %al, %bl; addc.u32 %h, %ah, %bh; mov.b64 %d, {{%l, %h}};}}"),
        &long,
        |a, b, _| a.wrapping_add(b),
    );
    check(
        &format!("{halves} sub.cc.u32 %l, %al, %bl; subc.u32 %h, %ah, %bh; mov.b64 %d, {{%l, %h}};}}"),
        &long,
        |a, b, _| a.wrapping_sub(b),
    );
    let all = ["b64"; 4];
    check("{.reg .b64 %t; add.cc.u64 %t, %a, %b; addc.cc.u64 %t, %a, %c; addc.u64 %d, 0, 0;}", &all, |a, b, c| {
        let carry = a.checked_add(b).is_none();
        u64::from((u128::from(a) + u128::from(c) + u128::from(carry)) >> 64 != 0)
    });
    check("{.reg .b64 %t; sub.cc.u64 %t, %a, %b; subc.cc.u64 %t, %a, %c; subc.u64 %d, 0, 0;}", &all, |a, b, c| {
        let borrow = i128::from(a < b);
        if i128::from(a) - i128::from(c) - borrow < 0 { u64::MAX } else { 0 }
    });
    // The high word of a product of 64 bits, from products of 32.
    let product = "mul.lo.u32 %l, %al, %bl; mul.hi.u32 %h, %al, %bl; {.reg .b32 %m, %n; mov.u32 %m, 0; mad.lo.cc.u32 %h, %al, %bh, %h; \
        madc.hi.cc.u32 %m, %al, %bh, %m; addc.u32 %n, 0, 0; mad.lo.cc.u32 %h, %ah, %bl, %h; madc.hi.cc.u32 %m, %ah, %bl, %m; \
        addc.u32 %n, %n, 0; mad.lo.cc.u32 %m, %ah, %bh, %m; madc.hi.u32 %n, %ah, %bh, %n; mov.b64 %d, {%m, %n};}";
    check(&format!("{halves} {product} }}"), &long, |a, b, _| ((u128::from(a) * u128::from(b)) >> 64) as u64);
    check("mad.lo.cc.u64 %d, %a, %b, %c; madc.hi.u64 %d, %a, %b, 0;", &all, |a, b, c| {
        ((u128::from(a) * u128::from(b) + u128::from(c)) >> 64) as u64
    });
}

/// Instructions under a guard leave the other lanes alone, and a comparison has two results.
#[test]
fn guards() {
    check("setp.lt.u32 %e, %a, 100; mov.b32 %d, %b; @%e mov.b32 %d, %a; @!%e add.u32 %d, %a, %b;", &W, |a, b, _| {
        if a < 100 { a } else { a.wrapping_add(b) }
    });
    check("setp.lt.s32 %e, %a, %b; mov.b32 %d, 1; @%e fma.rn.f32 %d, %a, %b, %c;", &W, |a, b, c| {
        if (a as i32) < b as i32 { bits(f(a).mul_add(f(b), f(c))) } else { 1 }
    });
    check("setp.lt.s32 %e, %a, %b; mov.b64 %d, 0; @%e cvt.u64.u32 %d, %a;", &["b64", "b32", "b32"], |a, b, _| {
        if (a as i32) < b as i32 { a } else { 0 }
    });
    let pair = ["pred", "b32", "b32", "pred"];
    check("setp.lt.s32 %e|%d, %a, %b; setp.ne.u32 %e, %a, %a;", &pair, |a, b, _| u64::from(a as i32 >= b as i32));
    check("setp.gt.or.s32 %d, %a, %b, !%c;", &pair, |a, b, c| u64::from(a as i32 > b as i32 || c == 0));
}

/// The comparison with a model can fail.
#[test]
#[should_panic(expected = "expected")]
fn a_wrong_model_is_noticed() {
    check("add.s32 %d, %a, %b;", &W, |a, b, _| a.wrapping_add(b) ^ u64::from(a == 33));
}
