//! `cuGetProcAddress`: functions by name and version, from the list of all.

use crate::entry::early;
use crate::errors::{Answer, INVALID_VALUE, NOT_FOUND};
use crate::raw::{Out, Text};
use std::collections::HashMap;
use std::sync::LazyLock;

mod declared {
    #![allow(unsafe_code, reason = "only the addresses of the functions are taken, which are all of this crate")]
    include!(concat!(env!("OUT_DIR"), "/declared.rs"));

    /// Name, version from which on it is what the name without its suffix means, and address of each function.
    pub(super) fn all() -> Vec<(&'static str, u32, *const ())> {
        include!(concat!(env!("OUT_DIR"), "/functions.rs"))
    }
}

mod missing {
    //! The functions that are missing.
    use crate::entry::stub;
    include!(concat!(env!("OUT_DIR"), "/stubs.rs"));
}

/// Versions and addresses of the functions that a name without its suffix may mean.
static BY_NAME: LazyLock<HashMap<&'static str, Vec<(u32, u64)>>> = LazyLock::new(|| {
    let mut by_name: HashMap<_, Vec<_>> = HashMap::new();
    for (name, since, address) in declared::all() {
        let base =
            name.rsplit_once("_v").filter(|(_, number)| number.parse::<u32>().is_ok()).map_or(name, |(base, _)| base);
        by_name.entry(base).or_default().push((since, address as u64));
        if base != name {
            by_name.entry(name).or_default().push((since, address as u64));
        }
    }
    by_name
});

/// The address of a function of this library, 0 if there is none of this name; for programs that link it.
pub fn address(name: &str) -> usize {
    declared::all().iter().find(|(known, ..)| *known == name).map_or(0, |(_, _, address)| *address as usize)
}

/// Why there is no address: no such function, or not in that version.
const NO_SYMBOL: u32 = 1;
const TOO_OLD: u32 = 2;

fn find(name: Text, out: Out<u64>, version: i32, status: Out<u32>) -> Answer {
    if out.is_null() {
        return Err(INVALID_VALUE);
    }
    let name = name.get()?;
    let known = BY_NAME.get(name.as_str()).map_or(&[][..], |all| all);
    let fitting = known.iter().filter(|(since, _)| i64::from(*since) <= i64::from(version));
    if let Some(&(_, address)) = fitting.max_by_key(|(since, _)| *since) {
        status.set_if(0);
        return out.set(address);
    }
    status.set_if(if known.is_empty() { NO_SYMBOL } else { TOO_OLD });
    out.set(0)?;
    if status.is_null() { Err(NOT_FOUND) } else { Ok(()) }
}

early! {
    fn cuGetProcAddress(_guard, name: Text, out: Out<u64>, version: i32, _flags: u64) { find(name, out, version, Out::none()) }
    fn cuGetProcAddress_v2(_guard, name: Text, out: Out<u64>, version: i32, _flags: u64, status: Out<u32>) {
        find(name, out, version, status)
    }
}
