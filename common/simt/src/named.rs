//! Enums whose variants have names in PTX, and the reading of those names: both from one list.

/// Makes an enum, and `named`, which finds the variant that a word of PTX names.
macro_rules! named {
    (
        $(#[$meta:meta])*
        $visibility:vis enum $name:ident { $($(#[$doc:meta])* $variant:ident $(= $($word:literal)|+)?,)* }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        $visibility enum $name {
            $($(#[$doc])* $variant,)*
        }

        impl $name {
            /// The one of that name, without its dot.
            pub fn named(word: &str) -> Option<Self> {
                match word {
                    $($($($word)|+ => Some(Self::$variant),)?)*
                    _ => None,
                }
            }
        }
    };
}
pub(crate) use named;
