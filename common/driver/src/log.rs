//! What a program did, in its order: lines of JSON in the file that `SIMT_LOG` names.
//!
//! Each line is an object. `did` says what was done, `process` by which process, `call` by which function of the driver, and `at` in
//! which line of the program (`FILE:LINE`, if it has debug information). Work that waited in a queue behind a function of the program
//! has no `call` and no `at`. Allocations, modules, streams and events are numbers; 0 is the default stream.
//!
//! | `did` | what else the line holds |
//! |---|---|
//! | `allocate`, `free`, `leak` | `allocation`, `bytes`, `memory`: `device`, `managed`, `pinned` or `registered` |
//! | `load` | `module`, its `kernels` |
//! | `copy` | `bytes`, `from` and `to` (`memory`, which may be `host` as well, and `allocation` and `offset` in it), `stream`, `sum` |
//! | `fill` | `bytes`, `to`, `stream` |
//! | `launch` | `kernel`, `module`, `grid`, `block`, `shared` (bytes of its own, and those that the launch adds), `arguments` (an `allocation` and an `offset`, or a number), `stream`, `instructions` of warps; `fault` if it has failed |
//! | `record`, `wait` | `stream`, `event`: the stream records it, or waits for it |
//! | `synchronize` | the host waits for a `stream`, for an `event`, or for all (`all`) |
//! | `elapsed` | `events`: two of them, `ms` |
//! | `error` | `code` that a call answers |
//!
//! `sum` adds up the FNV-1a hashes of 64 bits of all words of 4 bytes, so that the parts of a copy have together the sum of the whole. With
//! `SIMT_COUNTERS=1` a launch has `counters`. With `SIMT_CHECK=1` it has `reads` and `writes`, pairs of an allocation and how many of its
//! bytes; and copies, fills and launches have an `actor` and its `clock`: of two of them, `a` happens before `b` if
//! `b.clock[a.actor] >= a.clock[a.actor]`. Two of which neither happens before the other may overlap on a GPU.

use crate::report::shorter;
use crate::site::Call;
use serde_json::{Map, Value};
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;

/// The log; without a file nothing is written.
#[derive(Debug, Default)]
pub struct Log {
    file: Option<File>,
    /// The function that is being called.
    pub calling: &'static str,
    /// Whether what runs was asked for by an earlier call.
    pub later: bool,
}

impl Log {
    /// Appends to a file.
    pub fn open(path: Option<&Path>) -> Self {
        let open = |path: &Path| {
            let file = OpenOptions::new().create(true).append(true).open(path);
            file.inspect_err(|error| eprintln!("simt: the log {} cannot be written ({error})", path.display())).ok()
        };
        Self { file: path.and_then(open), ..Self::default() }
    }

    /// Whether anything is written.
    pub const fn is_on(&self) -> bool {
        self.file.is_some()
    }

    /// Writes a line.
    pub fn write(&self, did: &str, fields: Value) {
        let Some(mut file) = self.file.as_ref() else { return };
        let mut line = Map::from_iter([("did".into(), did.into()), ("process".into(), std::process::id().into())]);
        if !self.later {
            line.insert("call".into(), self.calling.into());
            let site = Call::here(self.calling).line();
            line.extend(site.file.map(|file| ("at".into(), format!("{}:{}", shorter(&file), site.number).into())));
        }
        if let Value::Object(fields) = fields {
            line.extend(fields);
        }
        // One write for each line: several processes may append to the same file. A full disk stops no program.
        let _ = file.write_all(format!("{}\n", Value::Object(line)).as_bytes());
    }
}
