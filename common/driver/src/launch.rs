//! Kernels: their attributes, and launches.

use crate::entry::{Guard, api};
use crate::errors::{
    Answer, COOPERATIVE_LAUNCH_TOO_LARGE, INVALID_CLUSTER_SIZE, INVALID_HANDLE, INVALID_VALUE, NOT_SUPPORTED,
};
use crate::gpus::{CAPABILITY, MULTIPROCESSORS, SHARED_OPT_IN, SHARED_PER_BLOCK, THREADS_PER_BLOCK};
use crate::occupancy::blocks_of;
use crate::op::{Launch, Op};
use crate::queue::enqueue;
use crate::raw::{In, Out, host};
use crate::state::{Function, State};
use crate::watch;
use simt::{Arg, LaunchConfig};

/// Attributes of a kernel that can be set: dynamic shared memory, and how much of the cache is to be shared memory.
const DYNAMIC_SHARED: u32 = 8;
const CARVEOUT: u32 = 9;

/// The size of a launch: grid and block, as x, y and z, dynamic shared memory in bytes, and whether all blocks run at once.
pub struct Size {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared: u32,
    pub cooperative: bool,
}

/// Where the arguments are: pointers to each, or a list that names a buffer.
pub type Arguments = (In<u64>, In<u64>);

/// The kernel with a handle.
fn known(state: &State, function: u64) -> Answer<&Function> {
    state.functions.get(function)
}

/// Refuses a launch as a GPU does.
fn refuse(state: &State, function: &Function, size: &Size) -> Answer {
    let gpu = &state.gpu;
    let threads = size.block.iter().try_fold(1u32, |all, &size| all.checked_mul(size)).unwrap_or(u32::MAX);
    if size.grid.contains(&0) || threads == 0 {
        return Err(INVALID_VALUE);
    }
    let within = |sizes: [u32; 3], first: u32| (first..).zip(sizes).all(|(number, size)| size <= gpu.size(number));
    if !within(size.block, 2) || !within(size.grid, 5) || threads > gpu.size(THREADS_PER_BLOCK) {
        return Err(INVALID_VALUE);
    }
    let asked = function.attributes.get(&DYNAMIC_SHARED).map_or(0, |&bytes| bytes.cast_unsigned());
    let own = function.kernel.static_shared_bytes();
    if size.shared > asked.max(gpu.size(SHARED_PER_BLOCK).saturating_sub(own)) {
        return Err(INVALID_VALUE);
    }
    let most = function.kernel.max_threads().map_or(u32::MAX, |[x, y, z]| x * y * z);
    if threads > most {
        return Err(INVALID_VALUE);
    }
    if function.kernel.required_threads().is_some_and(|required| required != size.block) {
        return Err(INVALID_VALUE);
    }
    let blocks = size.grid.iter().map(|&size| u64::from(size)).product::<u64>();
    if size.cooperative {
        let resident = blocks_of(gpu, function, threads, size.shared);
        if blocks > u64::from(resident) * u64::from(gpu.size(MULTIPROCESSORS)) {
            return Err(COOPERATIVE_LAUNCH_TOO_LARGE);
        }
    }
    Ok(())
}

/// The arguments of a kernel, as bytes.
fn arguments(state: &mut State, function: u64, (pointers, extra): Arguments) -> Answer<Vec<Arg>> {
    let params = known(state, function)?.kernel.params().to_vec();
    if !extra.is_null() {
        let (mut buffer, mut bytes) = (0, 0);
        for at in (0..).step_by(2) {
            match extra.at(at)? {
                0 => break,
                1 => buffer = extra.at(at + 1)?,
                2 => bytes = In::<u64>::from(extra.at(at + 1)?).get()?,
                _ => return Err(INVALID_VALUE),
            }
        }
        let needed = params.last().map_or(0, |last| u64::from(last.offset + last.bytes));
        if bytes != needed {
            watch::wrong_buffer(state, function, bytes, needed);
        }
        if bytes < needed || buffer == 0 && needed > 0 {
            return Err(INVALID_VALUE);
        }
        let part = |offset: u32, bytes: u32| host(buffer + u64::from(offset), bytes as usize).to_vec();
        return Ok(params.iter().map(|param| Arg::Bytes(part(param.offset, param.bytes))).collect());
    }
    if params.is_empty() {
        return Ok(vec![]);
    }
    let places = pointers.list(params.len())?;
    if places.contains(&0) {
        return Err(INVALID_VALUE);
    }
    watch::arguments(state, function, &params, &places);
    Ok(params.iter().zip(places).map(|(param, at)| Arg::Bytes(host(at, param.bytes as usize).to_vec())).collect())
}

/// Makes a launch of a kernel that can run.
pub fn prepare(state: &mut State, handle: u64, size: &Size, given: Arguments) -> Answer<Box<Launch>> {
    let function = known(state, handle)?;
    if let Err(code) = refuse(state, function, size) {
        let what = format!("the launch of kernel {}", function.kernel.name());
        let outputs = pointed(state, handle, given);
        watch::refused(state, &what, outputs, code);
        return Err(code);
    }
    let mut config =
        LaunchConfig::new((size.grid[0], size.grid[1], size.grid[2]), (size.block[0], size.block[1], size.block[2]));
    (config.dynamic_shared_bytes, config.shared_opt_in) = (size.shared, true);
    let kernel = function.kernel.clone();
    let module = state.modules.get(function.module).map_or(0, |loaded| loaded.number);
    let args = arguments(state, handle, given)?;
    let mut launch = Launch { kernel, module, config, args, call: None };
    watch::launches(state, &mut launch);
    Ok(Box::new(launch))
}

/// Addresses among the arguments of a launch that is refused.
fn pointed(state: &State, handle: u64, (pointers, _): Arguments) -> Vec<u64> {
    let Ok(function) = known(state, handle) else { return vec![] };
    let params = function.kernel.params();
    let Ok(places) = pointers.list(params.len()) else { return vec![] };
    let pointers = params.iter().zip(places).filter(|(param, at)| param.bytes == 8 && *at != 0);
    pointers.filter_map(|(_, at)| In::<u64>::from(at).get().ok()).collect()
}

fn launch(guard: &mut Guard, function: u64, size: &Size, stream: u64, given: Arguments) -> Answer {
    guard.context()?;
    known(guard, function)?;
    let stream = guard.stream(stream)?;
    let launch = prepare(guard, function, size, given)?;
    enqueue(guard, stream, Op::Launch(launch))
}

/// An attribute of a kernel by its number.
fn attribute(state: &State, function: u64, attribute: u32) -> Answer<i32> {
    let function = known(state, function)?;
    let kernel = &function.kernel;
    let capability = state.gpu.size(CAPABILITY[0]) * 10 + state.gpu.size(CAPABILITY[1]);
    Ok(match attribute {
        0 => kernel.max_threads().or(kernel.required_threads()).map_or(1024, |[x, y, z]| (x * y * z) as i32),
        1 => kernel.static_shared_bytes() as i32,
        // Constant memory and registers are the compiler's choice, which is not made here.
        2 => 0,
        3 => kernel.local_bytes() as i32,
        4 => REGISTERS,
        5 | 6 => capability as i32,
        DYNAMIC_SHARED => {
            let usual = state.gpu.size(SHARED_PER_BLOCK).saturating_sub(kernel.static_shared_bytes());
            function.attributes.get(&DYNAMIC_SHARED).copied().unwrap_or(usual as i32)
        }
        CARVEOUT => function.attributes.get(&CARVEOUT).copied().unwrap_or(-1),
        7 | 10..=15 => function.attributes.get(&attribute).copied().unwrap_or(0),
        _ => return Err(INVALID_VALUE),
    })
}

/// What is answered for the registers of a thread, which only a compiler for machine code knows.
pub const REGISTERS: i32 = 32;

fn set_attribute(state: &mut State, handle: u64, attribute: u32, value: i32) -> Answer {
    let most = state.gpu.size(SHARED_OPT_IN) as i32;
    let function = state.functions.get_mut(handle)?;
    let own = function.kernel.static_shared_bytes() as i32;
    match attribute {
        DYNAMIC_SHARED if (0..=most - own).contains(&value) => {}
        CARVEOUT if (-1..=100).contains(&value) => {}
        10..=15 => {}
        _ => return Err(INVALID_VALUE),
    }
    function.attributes.insert(attribute, value);
    Ok(())
}

fn parameter(state: &State, function: u64, index: u64, (offset, bytes): (Out<u64>, Out<u64>)) -> Answer {
    let param = known(state, function)?.kernel.params().get(index as usize).ok_or(INVALID_VALUE)?;
    offset.set_if(param.offset.into());
    bytes.set_if(param.bytes.into());
    Ok(())
}

/// What `cuLaunchKernelEx` reads: sizes, stream, attributes and their number.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Config {
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    stream: u64,
    attributes: In<[u32; 18]>,
    count: u32,
}

/// Size, stream, and the cluster, of a launch that `cuLaunchKernelEx` makes.
pub fn configured(config: In<Config>) -> Answer<(Size, u64)> {
    let Config { grid, block, shared, stream, attributes, count } = config.get()?;
    let mut size = Size { grid, block, shared, cooperative: false };
    // Each is a number, four bytes of nothing, and 64 bytes of a value.
    for attribute in attributes.list(count as usize)? {
        let value = &attribute[2..];
        match attribute[0] {
            2 => size.cooperative = value[0] != 0,
            4 if value[..3].contains(&0) || value[..3].iter().product::<u32>() > 8 => return Err(INVALID_CLUSTER_SIZE),
            4 if (0..3).any(|axis| grid[axis] % value[axis] != 0) => return Err(INVALID_CLUSTER_SIZE),
            4 if value[..3] != [1, 1, 1] => {
                eprintln!("simt: the program launches clusters of blocks, which are not simulated");
                return Err(NOT_SUPPORTED);
            }
            _ => {}
        }
    }
    Ok((size, stream))
}

/// The sizes of a launch, one after the other: grid, block, shared memory.
type Sizes = (u32, u32, u32, u32, u32, u32, u32);

fn sized((x, y, z, bx, by, bz, shared): Sizes, cooperative: bool) -> Size {
    Size { grid: [x, y, z], block: [bx, by, bz], shared, cooperative }
}

api! {
    fn cuLaunchKernel(
        guard, function: u64, x: u32, y: u32, z: u32, bx: u32, by: u32, bz: u32, shared: u32, stream: u64,
        pointers: In<u64>, extra: In<u64>,
    ) {
        let size = sized((x, y, z, bx, by, bz, shared), false);
        launch(guard, function, &size, stream, (pointers, extra))
    }
    fn cuLaunchCooperativeKernel(
        guard, function: u64, x: u32, y: u32, z: u32, bx: u32, by: u32, bz: u32, shared: u32, stream: u64, pointers: In<u64>,
    ) {
        let size = sized((x, y, z, bx, by, bz, shared), true);
        launch(guard, function, &size, stream, (pointers, In::from(0)))
    }
    fn cuLaunchKernelEx(guard, config: In<Config>, function: u64, pointers: In<u64>, extra: In<u64>) {
        let (size, stream) = configured(config)?;
        launch(guard, function, &size, stream, (pointers, extra))
    }
    fn cuFuncGetAttribute(guard, value: Out<i32>, which: u32, function: u64) { value.set(attribute(guard, function, which)?) }
    fn cuKernelGetAttribute(guard, value: Out<i32>, which: u32, function: u64, _device: i32) {
        value.set(attribute(guard, function, which)?)
    }
    fn cuFuncSetAttribute(guard, function: u64, which: u32, value: i32) { set_attribute(guard, function, which, value) }
    fn cuKernelSetAttribute(guard, which: u32, value: i32, function: u64, _device: i32) {
        set_attribute(guard, function, which, value)
    }
    fn cuFuncSetCacheConfig(guard, function: u64, config: u32) {
        known(guard, function)?;
        if config > 3 { Err(INVALID_VALUE) } else { Ok(()) }
    }
    fn cuKernelSetCacheConfig(guard, function: u64, config: u32, _device: i32) {
        known(guard, function)?;
        if config > 3 { Err(INVALID_VALUE) } else { Ok(()) }
    }
    fn cuFuncSetSharedMemConfig(guard, function: u64, _config: u32) { known(guard, function).map(|_| ()) }
    fn cuFuncGetName(guard, name: Out<*const u8>, function: u64) { name.set(known(guard, function)?.name.as_ptr()) }
    fn cuKernelGetName(guard, name: Out<*const u8>, function: u64) { name.set(known(guard, function)?.name.as_ptr()) }
    fn cuFuncGetParamInfo(guard, function: u64, index: u64, offset: Out<u64>, bytes: Out<u64>) {
        parameter(guard, function, index, (offset, bytes))
    }
    fn cuKernelGetParamInfo(guard, function: u64, index: u64, offset: Out<u64>, bytes: Out<u64>) {
        parameter(guard, function, index, (offset, bytes))
    }
    fn cuFuncGetParamCount(guard, function: u64, count: Out<u64>) {
        count.set(known(guard, function)?.kernel.params().len() as u64)
    }
    fn cuKernelGetParamCount(guard, function: u64, count: Out<u64>) {
        count.set(known(guard, function)?.kernel.params().len() as u64)
    }
    fn cuKernelGetFunction(guard, out: Out<u64>, function: u64) {
        known(guard, function)?;
        out.set(function)
    }
    fn cuFuncIsLoaded(guard, loaded: Out<u32>, function: u64) {
        known(guard, function)?;
        loaded.set(1)
    }
    fn cuFuncLoad(guard, function: u64) { known(guard, function).map(|_| ()).map_err(|_| INVALID_HANDLE) }
}
