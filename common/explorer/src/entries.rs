//! Pasted PTX: what can be launched in it, and a launch to begin with.

use crate::planner::PtxLaunch;
use serde_json::{Value, json};
use simt::{Kernel, Module, Param, Type};

/// The kernels of some PTX.
pub fn entries(ptx: &str) -> Result<Value, String> {
    let module = Module::parse(ptx).map_err(|error| error.to_string())?;
    let mut entries = vec![];
    for name in module.kernel_names() {
        let params = module.params(name).unwrap_or_default();
        // What the simulator does not know it says when the kernel is run.
        let kernel = module.kernel(name).ok();
        let types: Vec<String> = params.iter().map(|param| param.kind.to_string()).collect();
        entries.push(json!({ "name": name, "types": types, "launch": guess(name, &params, kernel.as_ref()) }));
    }
    Ok(json!({ "entries": entries }))
}

/// A launch to begin with, for 64×64×64: pointers are A, B and C, whole numbers M, N and K.
fn guess(name: &str, params: &[Param], kernel: Option<&Kernel>) -> PtxLaunch {
    let mut pointers = ["A", "B", "C"].into_iter();
    let mut sizes = ["M", "N", "K"].into_iter();
    let argument = |param: &Param| match (param.kind, param.bytes) {
        (Type::F32 | Type::F64, _) => json!(1),
        (_, 8) => pointers.next().map_or(json!(0), |name| json!(name)),
        _ => sizes.next().map_or(json!(0), |name| json!(name)),
    };
    let args = params.iter().map(argument).collect();
    let required = kernel.and_then(Kernel::required_threads);
    let most = kernel.and_then(Kernel::max_threads).map_or(1024, |most| most.iter().product::<u32>());
    let block = required.unwrap_or(if most >= 1024 { [32, 32, 1] } else { [most, 1, 1] });
    let grid = [64_u32.div_ceil(block[0].max(1)), 64_u32.div_ceil(block[1].max(1)), 1];
    // How much dynamic shared memory it needs the PTX does not say: as much as there is without being asked for.
    let arrays = kernel.map_or(&[][..], Kernel::shared_arrays);
    let shared_bytes = if arrays.iter().any(|array| array.bytes == 0) { 48 << 10 } else { 0 };
    PtxLaunch { entry: name.into(), grid, block, shared_bytes, args, tile: None }
}
