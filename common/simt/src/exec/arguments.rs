//! What a kernel is given: its arguments, and the module's variables.

use crate::ast::Space;
use crate::error::Error;
use crate::lower::{Preset, Special};
use crate::memory::{DevicePointer, GlobalMemory};
use crate::module::{Kernel, Param};
use std::collections::HashSet;

/// An argument of a kernel.
#[derive(Debug, Clone, PartialEq)]
pub enum Arg {
    /// A pointer into global memory, 8 bytes.
    Pointer(DevicePointer),
    /// 4 bytes.
    I32(i32),
    /// 4 bytes.
    U32(u32),
    /// Anything else: numbers of other sizes, structures passed by value.
    Bytes(Vec<u8>),
}

impl Arg {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Pointer(pointer) => pointer.0.to_le_bytes().to_vec(),
            Self::I32(value) => value.to_le_bytes().to_vec(),
            Self::U32(value) => value.to_le_bytes().to_vec(),
            Self::Bytes(bytes) => bytes.clone(),
        }
    }
}

/// Lays the arguments out as the parameters say.
pub(super) fn pack(kernel: &Kernel, args: &[Arg]) -> Result<Vec<u8>, Error> {
    let params = kernel.params();
    if params.len() != args.len() {
        let (name, takes, given) = (kernel.name(), params.len(), args.len());
        return Err(Error::usage(format!("{name} takes {takes} parameters, {given} arguments were given")));
    }
    let mut area = vec![0; kernel.code.param_bytes as usize];
    for (number, (Param { name, bytes, offset, .. }, arg)) in (1..).zip(params.iter().zip(args)) {
        let (given, of) = (arg.bytes(), kernel.name());
        match area.get_mut(*offset as usize..(offset + bytes) as usize) {
            Some(place) if place.len() == given.len() => place.copy_from_slice(&given),
            _ => {
                let has = format!("parameter {number} of {of} ({name}) has {bytes} bytes");
                return Err(Error::usage(format!("{has}, its argument has {}", given.len())));
            }
        }
    }
    Ok(area)
}

/// Gives the variables of the module that the kernel uses a place in memory, once for each memory.
pub(super) fn instantiate(kernel: &Kernel, memory: &mut GlobalMemory) -> Result<Vec<u64>, Error> {
    let module = &kernel.module.inner;
    let declared = &module.program.variables;
    let mut addresses = vec![0; declared.len()];
    if kernel.code.variables.is_empty() {
        return Ok(addresses);
    }
    // A variable may hold the address of another, so all that such variables name are needed too.
    let mut wanted = kernel.code.variables.clone();
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
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        let words: Vec<u32> = bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        memory.write_words(DevicePointer(addresses[number as usize]), &words)?;
    }
    Ok(addresses)
}

/// The place in memory where all blocks of the grid meet, for a kernel that asks for it.
pub(super) fn grid_barrier(kernel: &Kernel, memory: &mut GlobalMemory) -> Result<Option<DevicePointer>, Error> {
    let asks = |preset| matches!(preset, Preset::Special(Special::GridBarrierLow | Special::GridBarrierHigh));
    let asked = kernel.code.presets.iter().any(|&(_, _, preset)| asks(preset));
    asked.then(|| memory.alloc("grid barrier", 8, 4)).transpose()
}
