//! Runs whatever a text is: errors are welcome, panics are not.

use std::sync::atomic::{AtomicU64, Ordering};

use simt::{Arg, Counters, GlobalMemory, Hazards, LaunchConfig, Module, Trace};

/// Launches so far.
pub static LAUNCHES: AtomicU64 = AtomicU64::new(0);

/// Reads, lowers and launches every kernel of the text, alone and with every observer.
pub fn attempt(text: &str) {
    let Ok(module) = Module::parse(text) else { return };
    let names: Vec<String> = module.kernel_names().map(Into::into).collect();
    for name in names {
        let Ok(kernel) = module.kernel(&name) else { continue };
        let mut config = LaunchConfig::new((2, 2), (16, 3));
        config.instruction_limit = 20_000;
        config.dynamic_shared_bytes = 256;
        config.threads = 1;
        let mut all = (Counters::new(), (Hazards::new(), Trace::new([((0, 0).into(), (1, 1).into())])));
        launch(&kernel, &config, &mut all);
        let _ = all.1.0.report();
        let _ = all.1.1.threads();
        let _ = all.0.lines();
        launch(&kernel, &config, &mut ());
    }
}

fn launch<A: simt::Analysis>(kernel: &simt::Kernel, config: &LaunchConfig, analysis: &mut A) {
    let mut memory = GlobalMemory::new();
    let mut arguments = vec![];
    for param in kernel.params() {
        if param.bytes == 8 {
            let pointer = memory.alloc(&param.name, 4096, 4).expect("a page");
            arguments.push(Arg::Pointer(pointer));
        } else {
            arguments.push(Arg::Bytes(vec![1; param.bytes as usize]));
        }
    }
    LAUNCHES.fetch_add(1, Ordering::Relaxed);
    let _ = simt::launch(kernel, &mut memory, config, &arguments, analysis);
}
