//! One operation on 32 lanes at once, written so that the compiler makes vector code of it: the rows of the table under
//! `vector`. Everything here is inlined into the function of each instruction set.

use super::float::{canonical, canonical64};
use super::registers::{Registers, Word};
use crate::lower::inst::Inst;

/// A type that a lane's operand or result can be seen as.
pub(super) trait Lane: Copy {
    /// What the register holds for a lane.
    type Word: Word;
    fn see(word: Self::Word) -> Self;
    fn word(self) -> Self::Word;
}

macro_rules! lane {
    ($($kind:ty as $word:ty: |$bits:ident| $from:expr, |$value:ident| $to:expr;)*) => {
        $(impl Lane for $kind {
            type Word = $word;
            #[inline(always)]
            fn see($bits: $word) -> Self {
                $from
            }
            #[inline(always)]
            fn word(self) -> $word {
                let $value = self;
                $to
            }
        })*
    };
}
lane! {
    u32 as u32: |bits| bits, |value| value;
    i32 as u32: |bits| bits as i32, |value| value as u32;
    f32 as u32: |bits| f32::from_bits(bits), |value| canonical(value);
    u64 as u64: |bits| bits, |value| value;
    i64 as u64: |bits| bits as i64, |value| value as u64;
    f64 as u64: |bits| f64::from_bits(bits), |value| canonical64(value);
}

/// An operation on all lanes: a closure with one argument for each operand.
pub(super) trait Operation<Arguments> {
    fn apply(self, inst: &Inst, r: Registers, mask: u32);
}

macro_rules! operation {
    ($($argument:ident $operand:ident)*) => {
        impl<F: Fn($($argument),*) -> R, R: Lane, $($argument: Lane),*> Operation<($($argument,)*)> for F {
            #[inline(always)]
            fn apply(self, inst: &Inst, r: Registers, mask: u32) {
                $(let $operand = r.read::<$argument::Word>(inst.$operand);)*
                let mut out = [R::Word::default(); 32];
                for (lane, out) in out.iter_mut().enumerate() {
                    *out = self($($argument::see($operand[lane])),*).word();
                }
                r.write(inst.d, mask, &out);
            }
        }
    };
}
operation!(A a);
operation!(A a B b);
operation!(A a B b C c);
