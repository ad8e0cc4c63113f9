//! Modules and libraries, their kernels and variables, and the linker.

use crate::entry::{Guard, api};
use crate::errors::{
    Answer, FILE_NOT_FOUND, INVALID_HANDLE, INVALID_IMAGE, INVALID_PTX, INVALID_VALUE, NOT_FOUND, NOT_SUPPORTED,
    UNSUPPORTED_PTX_VERSION,
};
use crate::image::{ptx, ptx_of};
use crate::logged;
use crate::raw::{In, Out, Text, host};
use crate::state::{Block, Function, Kind, Loaded, State};
use simt::{DevicePointer, Error, Module};
use std::collections::HashMap;

/// The most bytes of a source that findings show.
const LARGEST_SOURCE: u64 = 16 << 20;

/// Lets findings show the lines of the files that the module was compiled from, if they are still there.
fn show_sources(module: &Module) {
    for (_, name) in module.source_files() {
        // A pipe would be waited for.
        if std::fs::metadata(name).is_ok_and(|file| file.is_file() && file.len() <= LARGEST_SOURCE)
            && let Ok(text) = std::fs::read_to_string(name)
        {
            findings::places::may_be_shown(name, &text);
        }
    }
}

/// Loads PTX into the current context.
fn load(state: &mut State, text: &str) -> Answer<u64> {
    let context = state.context()?;
    // A text without a version is no PTX to a driver, and one that goes wrong later is wrong PTX.
    if !text.contains(".version") {
        return Err(INVALID_IMAGE);
    }
    // The newest version that a driver of our version reads is 9.0; those of the same year are read as well.
    let version =
        text.split(".version").nth(1).and_then(|rest| rest.split_whitespace().next()?.split('.').next()?.parse().ok());
    if version.is_some_and(|major: u32| major > 9) {
        return Err(UNSUPPORTED_PTX_VERSION);
    }
    let module = Module::parse(text).map_err(|error| {
        eprintln!("simt: the program loads a module that cannot be read: {error}");
        if matches!(error, Error::Unsupported { .. }) { NOT_SUPPORTED } else { INVALID_PTX }
    })?;
    // A wrong kernel refuses the whole module, as a compiler does; one that is only unknown here is refused when it is asked for.
    for name in module.kernel_names() {
        if let Err(error @ Error::Parse { .. }) = module.kernel(name) {
            eprintln!("simt: the program loads a module that is wrong: {name}: {error}");
            return Err(INVALID_PTX);
        }
    }
    if state.check.is_some() {
        show_sources(&module);
    }
    let placed = module.place(&mut state.memory).map_err(|_| crate::errors::OUT_OF_MEMORY)?;
    let device = state.contexts.get(context)?.device;
    let mut variables = HashMap::new();
    for (name, DevicePointer(base), bytes) in placed {
        let number = state.allocation();
        let block = Block { bytes: bytes.max(1), kind: Kind::Variable, context, device, flags: 0, number };
        state.blocks.insert(base, block);
        crate::watch::placed(state, base);
        variables.insert(name, (base, bytes));
    }
    let (handle, number) = (state.handle(), state.number());
    logged::loaded(state, number, &module.kernel_names().collect::<Vec<_>>());
    state.modules.put(handle, Loaded { context, number, module, functions: HashMap::new(), variables });
    Ok(handle)
}

/// Takes a module away.
pub fn unload(state: &mut State, handle: u64) -> Answer {
    let loaded = state.modules.remove(handle)?;
    for (base, _) in loaded.variables.into_values() {
        state.blocks.remove(&base);
        crate::watch::forget(state, base);
    }
    loaded.module.free(&mut state.memory);
    for function in loaded.functions.into_values() {
        state.functions.remove(function)?;
    }
    Ok(())
}

/// The kernel of that name of a module.
fn function(state: &mut State, handle: u64, name: &str) -> Answer<u64> {
    let loaded = state.modules.get(handle)?;
    if let Some(&known) = loaded.functions.get(name) {
        return Ok(known);
    }
    if loaded.module.params(name).is_none() {
        return Err(NOT_FOUND);
    }
    let kernel = loaded.module.kernel(name).map_err(|error| {
        eprintln!("simt: {name}: {error}");
        NOT_SUPPORTED
    })?;
    let function = state.handle();
    let text = format!("{name}\0").into_bytes().into();
    state.functions.put(function, Function { module: handle, kernel, name: text, attributes: HashMap::new() });
    state.modules.get_mut(handle)?.functions.insert(name.into(), function);
    Ok(function)
}

fn variable(state: &State, handle: u64, name: &str, (base, bytes): (Out<u64>, Out<u64>)) -> Answer {
    let &(address, size) = state.modules.get(handle)?.variables.get(name).ok_or(NOT_FOUND)?;
    base.set_if(address);
    bytes.set_if(size);
    Ok(())
}

fn load_file(state: &mut State, path: Text) -> Answer<u64> {
    state.context()?;
    let bytes = std::fs::read(path.get()?).map_err(|_| FILE_NOT_FOUND)?;
    let text = ptx_of(&bytes)?;
    load(state, &text)
}

/// The handles of all kernels of a module that can run.
fn kernels(state: &mut State, handle: u64) -> Answer<Vec<u64>> {
    let names: Vec<String> = state.modules.get(handle)?.module.kernel_names().map(str::to_owned).collect();
    Ok(names.iter().filter_map(|name| function(state, handle, name).ok()).collect())
}

fn list(state: &mut State, handle: u64, out: Out<u64>, room: u32) -> Answer {
    (0..room as usize).zip(kernels(state, handle)?).try_for_each(|(at, kernel)| out.at(at).set(kernel))
}

api! {
    fn cuModuleLoad(guard, out: Out<u64>, path: Text) {
        let module = load_file(guard, path)?;
        out.set(module)
    }
    fn cuModuleLoadData(guard, out: Out<u64>, image: u64) {
        guard.context()?;
        let text = ptx(image)?;
        out.set(load(guard, &text)?)
    }
    fn cuModuleLoadDataEx(guard, out: Out<u64>, image: u64, count: u32, options: In<u32>, values: In<u64>) {
        guard.context()?;
        empty_logs(count, options, values)?;
        let text = ptx(image)?;
        out.set(load(guard, &text)?)
    }
    fn cuModuleLoadFatBinary(guard, out: Out<u64>, image: u64) {
        guard.context()?;
        let text = ptx(image)?;
        out.set(load(guard, &text)?)
    }
    fn cuModuleUnload(guard, module: u64) {
        guard.context()?;
        unload(guard, module)
    }
    fn cuModuleGetFunction(guard, out: Out<u64>, module: u64, name: Text) {
        guard.context()?;
        let function = function(guard, module, &name.get()?)?;
        out.set(function)
    }
    fn cuModuleGetFunctionCount(guard, count: Out<u32>, module: u64) {
        count.set(kernels(guard, module)?.len() as u32)
    }
    fn cuModuleEnumerateFunctions(guard, out: Out<u64>, room: u32, module: u64) { list(guard, module, out, room) }
    fn cuModuleGetGlobal_v2(guard, base: Out<u64>, bytes: Out<u64>, module: u64, name: Text) {
        guard.context()?;
        variable(guard, module, &name.get()?, (base, bytes))
    }
    fn cuModuleGetLoadingMode(_guard, mode: Out<u32>) { mode.set(1) }
    fn cuLibraryLoadData(guard, out: Out<u64>, image: u64, options: In<u32>, values: In<u64>, count: u32) {
        guard.context()?;
        empty_logs(count, options, values)?;
        let text = ptx(image)?;
        out.set(load(guard, &text)?)
    }
    fn cuLibraryLoadFromFile(guard, out: Out<u64>, path: Text) {
        let module = load_file(guard, path)?;
        out.set(module)
    }
    fn cuLibraryUnload(guard, library: u64) { unload(guard, library) }
    fn cuLibraryGetKernel(guard, out: Out<u64>, library: u64, name: Text) {
        let function = function(guard, library, &name.get()?)?;
        out.set(function)
    }
    fn cuLibraryGetModule(guard, out: Out<u64>, library: u64) {
        guard.modules.get(library)?;
        out.set(library)
    }
    fn cuLibraryGetGlobal(guard, base: Out<u64>, bytes: Out<u64>, library: u64, name: Text) {
        variable(guard, library, &name.get()?, (base, bytes))
    }
    fn cuLibraryGetKernelCount(guard, count: Out<u32>, library: u64) {
        count.set(kernels(guard, library)?.len() as u32)
    }
    fn cuLibraryEnumerateKernels(guard, out: Out<u64>, room: u32, library: u64) { list(guard, library, out, room) }
    fn cuLinkCreate_v2(guard, count: u32, options: In<u32>, values: In<u64>, out: Out<u64>) {
        guard.context()?;
        empty_logs(count, options, values)?;
        let handle = guard.handle();
        guard.links.put(handle, vec![]);
        out.set(handle)
    }
    fn cuLinkAddData_v2(guard, link: u64, kind: u32, data: u64, bytes: u64, _name: Text) {
        add(guard, link, kind, host(data, bytes as usize))
    }
    fn cuLinkAddFile_v2(guard, link: u64, kind: u32, path: Text) {
        let bytes = std::fs::read(path.get()?).map_err(|_| FILE_NOT_FOUND)?;
        add(guard, link, kind, &bytes)
    }
    fn cuLinkComplete(guard, link: u64, image: Out<u64>, bytes: Out<u64>) {
        let parts = guard.links.get_mut(link)?;
        let texts: Vec<String> = parts.iter().map(|part| String::from_utf8_lossy(part).into_owned()).collect();
        let linked = format!("{}\0", linked(&texts)).into_bytes();
        bytes.set_if(linked.len() as u64 - 1);
        parts.push(linked);
        image.set(parts.last().map_or(0, |last| last.as_ptr() as u64))
    }
    fn cuLinkDestroy(guard, link: u64) { guard.links.remove(link).map(|_| ()) }
    fn cuFuncGetModule(guard, out: Out<u64>, function: u64) {
        let module = guard.functions.get(function)?.module;
        out.set(module)
    }
    fn cuKernelGetLibrary(guard, out: Out<u64>, function: u64) {
        let module = guard.functions.get(function)?.module;
        out.set(module)
    }
}

/// Sets the sizes of logs to 0, since there is nothing in them.
fn empty_logs(count: u32, options: In<u32>, values: In<u64>) -> Answer {
    for (at, option) in options.list(count as usize)?.into_iter().enumerate() {
        // The size of a log is given, and written back, in place of a pointer.
        if matches!(option, 4 | 6) {
            let _ = values.at(at)?;
        }
    }
    Ok(())
}

fn add(guard: &mut Guard, link: u64, kind: u32, bytes: &[u8]) -> Answer {
    guard.links.get(link).map_err(|_| INVALID_HANDLE)?;
    let text = match kind {
        1 | 2 => ptx_of(bytes)?,
        // Our own linker's output says that it is machine code.
        0 | 3 if bytes.trim_ascii_start().starts_with(b".version") || bytes.trim_ascii_start().starts_with(b"//") => {
            ptx_of(bytes)?
        }
        0 | 3 | 4 | 5 => ptx_of(b"\x7fELF\0")?,
        _ => return Err(INVALID_VALUE),
    };
    if let Err(error) = Module::parse(&text) {
        eprintln!("simt: the program links a module that cannot be read: {error}");
        return Err(INVALID_PTX);
    }
    guard.links.get_mut(link)?.push(text.into_bytes());
    Ok(())
}

/// One text of several: the head of the first one, and of the others all but their heads and what the others define.
fn linked(texts: &[String]) -> String {
    let is_head =
        |line: &str| [".version", ".target", ".address_size"].iter().any(|word| line.trim_start().starts_with(word));
    let mut all = String::new();
    for (number, text) in texts.iter().enumerate() {
        for line in text.lines().filter(|line| number == 0 || !is_head(line)) {
            all.push_str(line);
            all.push('\n');
        }
    }
    all
}
