//! A shared-memory array of a kernel, and its name as the source has it.

/// A shared-memory array of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedArray {
    /// Name in the PTX, mangled as the compiler left it: `_ZZ6matmulE2As`.
    pub name: String,
    /// Name in the source, as far as the mangling shows it: `As`.
    pub source_name: String,
    /// Position in the block's shared memory, in bytes.
    pub offset: u32,
    /// Size in bytes; zero for the dynamic array, which takes the rest.
    pub bytes: u32,
}

impl SharedArray {
    /// An array of that name in the PTX.
    pub(crate) fn new(name: &str, offset: u32, bytes: u32) -> Self {
        Self { name: name.into(), source_name: source_name(name), offset, bytes }
    }
}

/// The source name inside a mangled one: `_ZZ6matmulE2As` → `As`, `tile` → `tile`.
fn source_name(mangled: &str) -> String {
    // The last "<length><name>" of an Itanium name, which is how NVRTC names the statics of a kernel.
    if mangled.starts_with("_Z") {
        for start in (0..mangled.len()).rev() {
            let Some(rest) = mangled.get(start..) else { continue };
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let before = mangled.as_bytes()[start.saturating_sub(1)];
            if digits == 0 || before.is_ascii_digit() {
                continue;
            }
            let name = &rest[digits..];
            // A discriminator such as `_0` may follow the name.
            if let Ok(length) = rest[..digits].parse::<usize>()
                && length > 0
                && let Some(found) = name.get(..length)
                && (name.len() == length || name[length..].starts_with('_') || name[length..].starts_with('E'))
            {
                return found.into();
            }
        }
    }
    mangled.into()
}
