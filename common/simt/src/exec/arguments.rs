//! What a kernel is given: its arguments, the module's variables, and registers whose values are known before a warp starts
//! (constants, parameters, addresses, special registers).

use super::access::sign_extend;
use super::context::Launch;
use super::registers::{Plane, Registers};
use crate::memory::{DevicePointer, GlobalMemory};
use crate::module::{Kernel, Param};
use crate::observe::BlockInfo;
use crate::variables::place;
use ptx::Dim3;
use ptx::error::Error;
use ptx::lower::{Index, Preset, RESERVED, Special};

/// An argument of a kernel.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Arg {
    /// A pointer into global memory, 8 bytes.
    Pointer(DevicePointer),
    /// 4 bytes.
    I32(i32),
    /// 4 bytes.
    U32(u32),
    /// 4 bytes.
    F32(f32),
    /// 8 bytes.
    I64(i64),
    /// 8 bytes.
    U64(u64),
    /// 8 bytes.
    F64(f64),
    /// 2 bytes.
    I16(i16),
    /// 2 bytes.
    U16(u16),
    /// 1 byte.
    I8(i8),
    /// 1 byte; `bool` is one that holds 0 or 1.
    U8(u8),
    /// Anything else: structures passed by value, numbers of types that Rust does not have.
    Bytes(Vec<u8>),
}

/// Applies a macro to each variant that holds a number of Rust.
macro_rules! numbers {
    ($apply:ident) => {
        $apply! { I32(i32), U32(u32), F32(f32), I64(i64), U64(u64), F64(f64), I16(i16), U16(u16), I8(i8), U8(u8) }
    };
}

macro_rules! from {
    ($($variant:ident($number:ty)),*) => { $(
        impl From<$number> for Arg {
            fn from(value: $number) -> Self {
                Self::$variant(value)
            }
        }
    )* };
}
numbers!(from);

impl From<bool> for Arg {
    fn from(value: bool) -> Self {
        Self::U8(value.into())
    }
}

impl From<DevicePointer> for Arg {
    fn from(pointer: DevicePointer) -> Self {
        Self::Pointer(pointer)
    }
}

macro_rules! stored {
    ($($variant:ident($number:ty)),*) => {
        impl Arg {
            /// As it is stored in the parameter area.
            fn bytes(&self) -> Vec<u8> {
                match self {
                    Self::Pointer(pointer) => pointer.0.to_le_bytes().to_vec(),
                    Self::Bytes(bytes) => bytes.clone(),
                    $(Self::$variant(value) => value.to_le_bytes().to_vec(),)*
                }
            }
        }
    };
}
numbers!(stored);

/// Lays the arguments out in the kernel's parameter area.
pub(super) fn pack(kernel: &Kernel, args: &[Arg]) -> Result<Vec<u8>, Error> {
    let params = kernel.params();
    if params.len() != args.len() {
        let (name, takes, given) = (kernel.name(), params.len(), args.len());
        return Err(Error::usage(format!("the kernel {name} takes {takes} parameters, {given} arguments were given")));
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

/// Allocates and initialises the module's variables that the kernel uses, once for each memory. Returns their addresses.
pub(super) fn instantiate(kernel: &Kernel, memory: &mut GlobalMemory) -> Result<Vec<u64>, Error> {
    place(&kernel.module.inner, kernel.code.variables.clone(), memory)
}

/// Allocates the place in memory where all blocks of the grid meet, if the kernel asks for it.
pub(super) fn grid_barrier(kernel: &Kernel, memory: &mut GlobalMemory) -> Result<Option<DevicePointer>, Error> {
    let asks = |preset| matches!(preset, Preset::Special(Special::GridBarrierLow | Special::GridBarrierHigh));
    let asked = kernel.code.presets.iter().any(|&(_, _, preset)| asks(preset));
    asked.then(|| memory.alloc("grid barrier", 8, 4)).transpose()
}

/// Sets the registers that are known before a block's warps start: those that depend on the block if it is given, else all others.
pub(super) fn set_presets(launch: &Launch, planes: &mut [Plane], block: Option<&BlockInfo>) {
    let code = &launch.kernel.code;
    for (warp, planes) in (0u64..).zip(planes.chunks_exact_mut((code.planes as usize).max(1))) {
        let registers = Registers::new(planes);
        for &(offset, wide, preset) in &code.presets {
            let changes = matches!(preset, Preset::Index(Index::Ctaid, _));
            if changes != block.is_some() {
                continue;
            }
            let constant = constant(launch, preset);
            for lane in 0..32usize {
                let value = constant.unwrap_or_else(|| of_lane(preset, launch.config.block, block, warp, lane));
                registers.set_bits(offset, wide, lane, value);
            }
        }
    }
}

fn axis(size: Dim3, axis: u8) -> u64 {
    u64::from([size.x, size.y, size.z][axis as usize % 3])
}

/// Returns the value of a preset that depends on the block or thread.
fn of_lane(preset: Preset, size: Dim3, block: Option<&BlockInfo>, warp: u64, lane: usize) -> u64 {
    match preset {
        Preset::Index(Index::Tid, dimension) => axis(size.index(warp * 32 + lane as u64), dimension),
        Preset::Index(Index::Ctaid, dimension) => block.map_or(0, |block| axis(block.index, dimension)),
        Preset::Special(Special::LaneId) => lane as u64,
        Preset::Special(Special::WarpId) => warp,
        Preset::Special(Special::LaneMaskEq) => 1 << lane,
        Preset::Special(Special::LaneMaskLt) => (1 << lane) - 1,
        Preset::Special(Special::LaneMaskLe) => (2 << lane) - 1,
        Preset::Special(Special::LaneMaskGt) => 0xffff_ffff & !((2 << lane) - 1),
        Preset::Special(Special::LaneMaskGe) => 0xffff_ffff & !((1 << lane) - 1),
        _ => 0,
    }
}

/// Returns the value of a preset, or `None` if it depends on the block or thread.
fn constant(launch: &Launch, preset: Preset) -> Option<u64> {
    let config = launch.config;
    Some(match preset {
        Preset::Constant(value) | Preset::Shared { address: value, .. } => value,
        Preset::Param { offset, bytes, signed } => {
            let start = offset as usize;
            let mut value = [0; 8];
            if let Some(from) = launch.params.get(start..start + bytes as usize) {
                value[..from.len()].copy_from_slice(from);
            }
            let value = u64::from_le_bytes(value);
            if signed { sign_extend(value, bytes) } else { value }
        }
        Preset::Variable { number, offset } => launch.variables[number as usize].wrapping_add_signed(offset),
        Preset::Index(Index::Ntid, dimension) => axis(config.block, dimension),
        Preset::Index(Index::Nctaid, dimension) => axis(config.grid, dimension),
        Preset::Index(..) => return None,
        Preset::Special(special) => match special {
            Special::NWarpId => config.block.count().div_ceil(32),
            Special::GridBarrierLow => launch.grid_barrier & 0xffff_ffff,
            Special::GridBarrierHigh => launch.grid_barrier >> 32,
            Special::DynamicShared => u64::from(config.dynamic_shared_bytes),
            Special::TotalShared => u64::from(launch.shared_bytes),
            Special::Reserved0 => u64::from(launch.kernel.own_shared_bytes(config)),
            Special::Reserved1 => u64::from(launch.kernel.own_shared_bytes(config) + RESERVED),
            Special::Zero => 0,
            Special::One => 1,
            _ => return None,
        },
    })
}
