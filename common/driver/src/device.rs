//! Initialisation, devices and their attributes, and the texts of codes.

use crate::entry::{Guard, api, early};
use crate::errors::{Answer, Code, INVALID_DEVICE, INVALID_VALUE};
use crate::gpus::CAPABILITY;
use crate::raw::{In, Out, Text, write_text};
use crate::state::State;

/// The version of the driver's interface: 13.0.
const VERSION: i32 = 13_000;

/// The number of a device, if there is such a one.
pub fn ordinal(state: &State, device: i32) -> Answer<usize> {
    usize::try_from(device).ok().filter(|&device| device < state.devices.len()).ok_or(INVALID_DEVICE)
}

/// What tells a device from the others: the same on every run.
fn uuid(device: usize) -> [u8; 16] {
    let mut uuid = *b"simulated GPU  0";
    uuid[15] += device as u8;
    uuid
}

/// Writes a property of a device of which all are alike.
fn property<T: Copy>(guard: &mut Guard, out: Out<T>, device: i32, of: impl Fn(&State) -> T) -> Answer {
    ordinal(guard, device)?;
    out.set(of(guard))
}

early! {
    fn cuInit(guard, flags: u32) {
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        guard.initialised = true;
        if guard.check.is_some() || guard.log.is_on() {
            crate::watch::at_exit();
        }
        Ok(())
    }
    fn cuDriverGetVersion(_guard, version: Out<i32>) {
        version.set(VERSION)
    }
    fn cuGetErrorName(guard, code: u32, name: Out<*const u8>) {
        text_of(guard, code, name, |(name, _)| name)
    }
    fn cuGetErrorString(guard, code: u32, text: Out<*const u8>) {
        text_of(guard, code, text, |(_, text)| text)
    }
}

fn text_of(
    guard: &mut Guard,
    code: u32,
    to: Out<*const u8>,
    part: fn((&'static str, &'static str)) -> &'static str,
) -> Answer {
    if let Some(check) = &mut guard.check {
        check.asked(Code(code));
    }
    let Some((name, text)) = Code(code).texts() else {
        to.set_if(std::ptr::null());
        return Err(INVALID_VALUE);
    };
    to.set(part((name, text)).as_ptr())
}

api! {
    fn cuDeviceGetCount(guard, count: Out<i32>) {
        count.set(guard.devices.len() as i32)
    }
    fn cuDeviceGet(guard, device: Out<i32>, number: i32) {
        property(guard, device, number, |_| number)
    }
    fn cuDeviceGetName(guard, name: Out<u8>, size: i32, device: i32) {
        ordinal(guard, device)?;
        write_text(name, size, &guard.gpu.name)
    }
    fn cuDeviceTotalMem_v2(guard, bytes: Out<u64>, device: i32) {
        property(guard, bytes, device, |state| state.gpu.memory)
    }
    fn cuDeviceGetAttribute(guard, value: Out<i32>, attribute: u32, device: i32) {
        ordinal(guard, device)?;
        let known = guard.gpu.attribute(attribute).ok_or(INVALID_VALUE)?;
        value.set(if attribute == 33 { known + device } else { known })
    }
    fn cuDeviceComputeCapability(guard, major: Out<i32>, minor: Out<i32>, device: i32) {
        property(guard, major, device, |state| state.gpu.size(CAPABILITY[0]) as i32)?;
        minor.set(guard.gpu.size(CAPABILITY[1]) as i32)
    }
    fn cuDeviceGetUuid(guard, out: Out<[u8; 16]>, device: i32) {
        property(guard, out, device, |_| uuid(device as usize))
    }
    fn cuDeviceGetUuid_v2(guard, out: Out<[u8; 16]>, device: i32) {
        property(guard, out, device, |_| uuid(device as usize))
    }
    fn cuDeviceGetPCIBusId(guard, out: Out<u8>, size: i32, device: i32) {
        ordinal(guard, device)?;
        write_text(out, size, &format!("0000:{:02x}:00.0", device + 1))
    }
    fn cuDeviceGetByPCIBusId(guard, device: Out<i32>, address: Text) {
        let address = address.get()?;
        let bus = address.rsplit(':').nth(1).and_then(|bus| i32::from_str_radix(bus, 16).ok()).ok_or(INVALID_VALUE)?;
        ordinal(guard, bus - 1)?;
        device.set(bus - 1)
    }
    fn cuDeviceGetProperties(guard, properties: Out<[i32; 14]>, device: i32) {
        let of = |state: &State, number| state.gpu.size(number) as i32;
        property(guard, properties, device, |state| {
            [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14].map(|number| of(state, number))
        })
    }
    fn cuDeviceCanAccessPeer(guard, can: Out<i32>, device: i32, other: i32) {
        ordinal(guard, device)?;
        property(guard, can, other, |_| i32::from(device != other))
    }
    fn cuDeviceGetP2PAttribute(guard, value: Out<i32>, attribute: u32, device: i32, other: i32) {
        ordinal(guard, device)?;
        if device == other || !(1..=4).contains(&attribute) {
            return Err(INVALID_VALUE);
        }
        // Performance rank, access, and the rest: no atomic operations, no arrays.
        property(guard, value, other, |_| i32::from(attribute == 2))
    }
    fn cuDeviceGetExecAffinitySupport(guard, value: Out<i32>, _kind: u32, device: i32) {
        property(guard, value, device, |_| 0)
    }
    fn cuProfilerStart(guard) { guard.context().map(|_| ()) }
    fn cuProfilerStop(guard) { guard.context().map(|_| ()) }
    fn cuGetExportTable(_guard, table: Out<u64>, _of: In<[u8; 16]>) {
        table.set_if(0);
        Err(crate::errors::NOT_SUPPORTED)
    }
}
