//! Macros that make an enum and its words from one list: `named` for words of PTX, which are read, and `worded` for words in
//! messages.

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
            /// The variant that `word` names, written without its dot.
            pub fn named(word: &str) -> Option<Self> {
                match word {
                    $($($($word)|+ => Some(Self::$variant),)?)*
                    _ => None,
                }
            }
        }
    };
}

/// Makes an enum, and the words that messages use for its variants.
#[macro_export]
macro_rules! worded {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$doc])* $variant,)*
        }

        impl $name {
            /// All variants, in order.
            pub const ALL: [Self; [$($word),*].len()] = [$(Self::$variant),*];

            /// The word that messages use for the variant.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}
pub(crate) use {named, worded};
