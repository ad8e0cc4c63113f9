//! Where a module's variables are in memory.

use crate::memory::{DevicePointer, GlobalMemory};
use ptx::error::Error;
use ptx::parsed::Parsed;
use ptx::place::Space;
use std::collections::HashSet;

/// Allocates and initialises these variables of a module, and those that they name, once for each memory. Returns the addresses of
/// all of the module's variables, 0 for those that have none.
pub(crate) fn place(module: &Parsed, mut wanted: Vec<u32>, memory: &mut GlobalMemory) -> Result<Vec<u64>, Error> {
    let declared = &module.program.variables;
    let mut addresses = vec![0; declared.len()];
    if wanted.is_empty() {
        return Ok(addresses);
    }
    // A variable may hold the address of another one, so the variables that it names are needed, too.
    let mut known: HashSet<u32> = wanted.iter().copied().collect();
    let mut at = 0;
    while at < wanted.len() {
        for (_, name, ..) in &declared[wanted[at] as usize].init_symbols {
            match module.variable(name) {
                Some(number) if declared[number as usize].space != Space::Shared => {
                    if known.insert(number) {
                        wanted.push(number);
                    }
                }
                None if module.entry(name).is_some() => {}
                _ => {
                    let message = format!("the initial value of a variable names {name}, which has no address");
                    return Err(Error::usage(message));
                }
            }
        }
        at += 1;
    }
    let mut fresh = vec![];
    for &number in &wanted {
        let variable = &declared[number as usize];
        let (address, new) = memory.variable(module.id, number, variable)?;
        addresses[number as usize] = address.0;
        if new {
            fresh.push(number);
        }
    }
    for number in fresh {
        let variable = &declared[number as usize];
        let mut bytes = variable.init.clone();
        for (position, name, addend, mask) in &variable.init_symbols {
            let target = module.variable(name).map(|number| addresses[number as usize]).or(module.entry(name));
            let address = target.unwrap_or_default().wrapping_add_signed(*addend);
            let value = (address & mask).checked_shr(mask.trailing_zeros()).unwrap_or(0).to_le_bytes();
            let size = variable.kind.bytes() as usize;
            if let Some(place) = bytes.get_mut(*position..position + size) {
                place.copy_from_slice(&value[..size]);
            }
        }
        memory.write_bytes(DevicePointer(addresses[number as usize]), &bytes)?;
    }
    Ok(addresses)
}
