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
fn constants_as_the_assembler_reads_them() {
    for line in include_str!("constants.txt").lines() {
        let Some((constant, number)) = line.rsplit_once(" = ").filter(|_| !line.starts_with('#')) else { continue };
        let whole = number.strip_prefix("0x").map_or_else(|| number.parse(), |digits| i64::from_str_radix(digits, 16));
        if let Ok(number) = whole {
            check(&format!("mov.b64 %d, {constant};"), &["b64", "b64"], |_, _, _| number as u64);
            continue;
        }
        let number: f64 = number.parse().unwrap();
        check(&format!("mov.f32 %d, {constant};"), &["f32", "f32"], |_, _, _| bits(number as f32));
        // A number of single precision is just that in double precision.
        check(&format!("mov.f64 %d, {constant};"), &["f64", "f64"], |_, _, _| f64::to_bits(number));
    }
    check("add.s32 %d, %a, 0x1e-3;", &W, |a, _, _| a.wrapping_add(0x1b));
    check("add.s32 %d, %a, 0x1E+3;", &W, |a, _, _| a.wrapping_add(0x21));
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
    // There is one flag: what a difference leaves is that nothing was borrowed, and a sum adds it as it is.
    let flag = |first: &str, a: u32, b: u32| {
        if first == "add" { a.checked_add(b).is_none() } else { a >= b }
    };
    for (first, second) in [("add", "add"), ("add", "sub"), ("sub", "add"), ("sub", "sub")] {
        let body = format!("{{.reg .b32 %t; {first}.cc.u32 %t, %a, %b; {second}c.u32 %d, %c, %b;}}");
        check(&body, &W, |a, b, c| {
            let more = u64::from(flag(first, a as u32, b as u32));
            c + more + if second == "add" { b } else { b ^ 0xffff_ffff }
        });
    }
    // The high word of a product of 64 bits, from products of 32.
    let product = "mul.lo.u32 %l, %al, %bl; mul.hi.u32 %h, %al, %bl; {.reg .b32 %m, %n; mov.u32 %m, 0; mad.lo.cc.u32 %h, %al, %bh, %h; \
        madc.hi.cc.u32 %m, %al, %bh, %m; addc.u32 %n, 0, 0; mad.lo.cc.u32 %h, %ah, %bl, %h; madc.hi.cc.u32 %m, %ah, %bl, %m; \
        addc.u32 %n, %n, 0; mad.lo.cc.u32 %m, %ah, %bh, %m; madc.hi.u32 %n, %ah, %bh, %n; mov.b64 %d, {%m, %n};}";
    check(&format!("{halves} {product} }}"), &long, |a, b, _| ((u128::from(a) * u128::from(b)) >> 64) as u64);
    check("mad.lo.cc.u64 %d, %a, %b, %c; madc.hi.u64 %d, %a, %b, 0;", &all, |a, b, c| {
        ((u128::from(a) * u128::from(b) + u128::from(c)) >> 64) as u64
    });
}

/// Numbers of eight bits, against all there are.
#[test]
fn numbers_of_eight_bits() {
    // Fraction bits, bias, the largest number.
    for (name, fraction, bias, largest) in [("e4m3", 3, 7, 0x7e), ("e5m2", 2, 15, 0x7b)] {
        let value = |bits: u64| {
            let (digits, power) = (bits & ((1 << fraction) - 1), (bits >> fraction) as i32);
            let digits = digits + if power == 0 { 0 } else { 1 << fraction };
            digits as f32 * 2f32.powi(power.max(1) - bias - fraction)
        };
        let nearest = |x: f32| {
            let sign = if x.is_sign_negative() { 0x80 } else { 0 };
            let away = |bits: &u64| (value(*bits) - x.abs().min(1e6)).abs();
            // Of two that are as near the even one.
            let order = |a: &u64, b: &u64| away(a).total_cmp(&away(b)).then((a % 2).cmp(&(b % 2)));
            if x.is_nan() { 0x7f } else { sign | (0..=largest).min_by(order).unwrap() }
        };
        let to = format!("{{.reg .b16 %h; cvt.rn.satfinite.{name}x2.f32 %h, %a, %b; cvt.u32.u16 %d, %h;}}");
        check(&to, &["b32", "f32", "f32"], |a, b, _| nearest(f(a)) << 8 | nearest(f(b)));
        let relu = to.replace("satfinite", "satfinite.relu");
        let positive = |x: f32| if x < 0.0 || x.to_bits() == 1 << 31 { 0 } else { nearest(x) };
        check(&relu, &["b32", "f32", "f32"], |a, b, _| positive(f(a)) << 8 | positive(f(b)));
        let back = format!(
            "{{.reg .b16 %h, %low, %high, %g; .reg .f32 %x, %y; .reg .b32 %q; cvt.u16.u32 %h, %a; \
             cvt.rn.f16x2.{name}x2 %q, %h; mov.b32 {{%low, %high}}, %q; cvt.f32.f16 %x, %low; cvt.f32.f16 %y, %high; \
             add.f32 %x, %x, %y; cvt.rn.satfinite.{name}x2.f16x2 %g, %q; cvt.u32.u16 %q, %g; mov.b64 %d, {{%q, %x}};}}"
        );
        check(&back, &["b64", "b32"], |a, _, _| {
            let number = |bits: u64| {
                let x = match bits & 0x7f {
                    0x7c if name == "e5m2" => f32::INFINITY,
                    magnitude if magnitude > largest => f32::NAN,
                    magnitude => value(magnitude),
                };
                if bits & 0x80 == 0 { x } else { -x }
            };
            let [low, high] = [a & 0xff, a >> 8 & 0xff];
            let again = |bits: u64| nearest(number(bits));
            bits(number(low) + number(high)) << 32 | again(high) << 8 | again(low)
        });
    }
}

#[test]
fn vectors_and_packs() {
    check(
        "{.reg .b32 %x, %y; mov.b32 %x, %a; mov.b32 %y, %b; mov.v2.b32 {%x, %y}, {%y, %x}; sub.u32 %d, %x, %y;}",
        &W,
        |a, b, _| b.wrapping_sub(a),
    );
    let cut = |value: u64, low: i32, high: i32| (value as i32).clamp(low, high) as u32 as u64;
    check("cvt.pack.sat.s16.s32 %d, %a, %b;", &W, |a, b, _| {
        let cut = |value| cut(value, -32768, 32767) & 0xffff;
        cut(a) << 16 | cut(b)
    });
    check("cvt.pack.sat.u8.s32.b32 %d, %a, %b, %c;", &W, |a, b, c| c << 16 | cut(a, 0, 255) << 8 | cut(b, 0, 255));
    // A register and a constant.
    check("mov.b32 %d, %a + 5;", &W, |a, _, _| a.wrapping_add(5));
    check("add.u32 %d, %a, %b - 5;", &W, |a, b, _| a.wrapping_add(b).wrapping_sub(5));
    check("{.reg .b64 %q; createpolicy.fractional.L2::evict_last.b64 %q, 1.0; add.u32 %d, %a, 1;}", &W, |a, _, _| {
        a.wrapping_add(1)
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
