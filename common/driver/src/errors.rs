//! The codes that the driver's functions answer. `errors.txt` lists them.

/// A code of the driver; 0 is success.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Code(pub u32);

/// What a function answers: a result, or the code of what went wrong.
pub type Answer<T = ()> = Result<T, Code>;

include!(concat!(env!("OUT_DIR"), "/errors.rs"));

impl Code {
    /// Name and description, each ended with a zero, as C wants them; `None` for a number that is no code.
    pub fn texts(self) -> Option<(&'static str, &'static str)> {
        let at = TEXTS.binary_search_by_key(&self.0, |&(number, ..)| number).ok()?;
        Some((TEXTS[at].1, TEXTS[at].2))
    }

    /// Its name, such as `CUDA_ERROR_INVALID_VALUE`.
    pub fn name(self) -> &'static str {
        self.texts().map_or("an unknown code", |(name, _)| name.trim_end_matches('\0'))
    }
}
