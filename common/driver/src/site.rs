//! Which call of the program it was, and its line.

/// A call of the driver's interface.
#[derive(Debug, Clone, Default)]
pub struct Call {
    /// The function that was called.
    pub name: &'static str,
    /// Where it returned to, and where that function returned to, and so on.
    frames: Vec<usize>,
}

/// A line of the program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Line {
    /// The file, if the program has debug information.
    pub file: Option<String>,
    /// The line, from 1.
    pub number: u32,
    /// The function that it is in, if its name is known.
    pub function: Option<String>,
}

/// Deepest nesting of calls that is looked at.
const DEPTH: usize = 48;

impl Call {
    /// The call that is being answered now.
    pub fn here(name: &'static str) -> Self {
        let mut frames = Vec::with_capacity(16);
        #[cfg(feature = "lines")]
        backtrace::trace(|frame| {
            frames.push(frame.ip() as usize);
            frames.len() < DEPTH
        });
        #[cfg(not(feature = "lines"))]
        frames.reserve(DEPTH);
        Self { name, frames }
    }

    /// The innermost line that is the program's own: not of this library, of Rust's, or of a crate from a registry. If there is no
    /// such line, the innermost function.
    pub fn line(&self) -> Line {
        let mut best = Line::default();
        #[cfg(feature = "lines")]
        {
            let mut inside = !self.name.is_empty();
            for &frame in &self.frames {
                let mut found = None;
                backtrace::resolve(frame as *mut _, |symbol| {
                    let name = symbol.name().map(|name| name.to_string()).unwrap_or_default();
                    // All frames up to that of the interface's function are ours.
                    if inside {
                        inside = name != self.name;
                        return;
                    }
                    if name.starts_with("cuda::") || name.starts_with("backtrace::") {
                        return;
                    }
                    let file = symbol.filename().map(|file| file.to_string_lossy().into_owned());
                    let foreign = |file: &String| {
                        ["/rustc/", "/.cargo/registry/", "/.cargo/git/"].iter().any(|part| file.contains(part))
                    };
                    let line = Line {
                        file,
                        number: symbol.lineno().unwrap_or(0),
                        function: (!name.is_empty()).then_some(name),
                    };
                    // Only who has the file can look at the line.
                    let own = |file: &String| !foreign(file) && std::path::Path::new(file).exists();
                    if line.number > 0 && line.file.as_ref().is_some_and(own) {
                        found.get_or_insert(line);
                    } else if best.function.is_none() {
                        best.function = line.function;
                    }
                });
                if let Some(line) = found {
                    return line;
                }
            }
        }
        best.function = best.function.map(|name| plain(&name));
        best
    }
}

/// A name without the hash that Rust's compiler adds.
fn plain(name: &str) -> String {
    name.rsplit_once("::h").filter(|(_, hash)| hash.len() == 16).map_or(name, |(name, _)| name).to_owned()
}
