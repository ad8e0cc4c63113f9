//! The questions of `conformance`.

use crate::caller::{Driver, PTX, at, text};

/// Prints what a call answered, and its effect.
fn says(question: &str, code: u32, effect: impl std::fmt::Display) {
    println!("{question}: {code} {effect}");
}

/// Questions that leave the context as it was.
pub fn ask(cuda: &Driver) {
    let mut out = 0u64;
    says("device count before init", cuda.call("cuDeviceGetCount", &[at(&mut out)]), "");
    says("init with flags", cuda.call("cuInit", &[1]), "");
    says("init", cuda.call("cuInit", &[0]), "");
    says("device 99", cuda.call("cuDeviceGet", &[at(&mut out), 99]), "");
    says("device attribute 9999", cuda.call("cuDeviceGetAttribute", &[at(&mut out), 9999, 0]), "");
    says("allocate without a context", cuda.call("cuMemAlloc_v2", &[at(&mut out), 64]), "");
    says("synchronize without a context", cuda.call("cuCtxSynchronize", &[]), "");
    says("release a primary context that nobody holds", cuda.call("cuDevicePrimaryCtxRelease_v2", &[0]), "");
    says("push a context that is null", cuda.call("cuCtxPushCurrent_v2", &[0]), "");
    says("pop with none there", cuda.call("cuCtxPopCurrent_v2", &[at(&mut out)]), "");
    let context = cuda.get("cuDevicePrimaryCtxRetain", &[0]);
    cuda.ok("cuCtxSetCurrent", &[context]);
    contexts(cuda);
    memory(cuda);
    copies(cuda);
    modules(cuda);
    launches(cuda);
    streams(cuda);
    captures(cuda);
}

fn contexts(cuda: &Driver) {
    let mut out = 0u64;
    let mut other = 0u64;
    says("create a context", cuda.call("cuCtxCreate_v2", &[at(&mut other), 0, 0]), "");
    cuda.call("cuCtxGetCurrent", &[at(&mut out)]);
    says("the new context is current", 0, out == other);
    says("destroy it", cuda.call("cuCtxDestroy_v2", &[other]), "");
    says("then current", cuda.call("cuCtxGetCurrent", &[at(&mut out)]), out != other && out != 0);
    says("limit 77", cuda.call("cuCtxGetLimit", &[at(&mut out), 77]), "");
    says("cache config 9", cuda.call("cuCtxSetCacheConfig", &[9]), "");
    says("peer access to itself", cuda.call("cuCtxEnablePeerAccess", &[out, 0]), "");
    says("error name of 12345", cuda.call("cuGetErrorName", &[12345, at(&mut out)]), "");
}

fn memory(cuda: &Driver) {
    let mut out = 0u64;
    says("allocate 0 bytes", cuda.call("cuMemAlloc_v2", &[at(&mut out), 0]), "");
    says("allocate too much", cuda.call("cuMemAlloc_v2", &[at(&mut out), 1 << 50]), "");
    says("allocate managed without flags", cuda.call("cuMemAllocManaged", &[at(&mut out), 64, 0]), "");
    says("allocate pinned 0 bytes", cuda.call("cuMemHostAlloc", &[at(&mut out), 0, 0]), "");
    says("allocate pinned with flag 64", cuda.call("cuMemHostAlloc", &[at(&mut out), 64, 64]), "");
    says("free null", cuda.call("cuMemFree_v2", &[0]), "");
    says("free nonsense", cuda.call("cuMemFree_v2", &[0x1234_5678]), "");
    let data = cuda.get("cuMemAlloc_v2", &[1 << 20]);
    says("free inside", cuda.call("cuMemFree_v2", &[data + 256]), "");
    says("aligned to 256", 0, data.is_multiple_of(256));
    let mut size = 0u64;
    says(
        "address range",
        cuda.call("cuMemGetAddressRange_v2", &[at(&mut out), at(&mut size), data + 5]),
        out == data && size == 1 << 20,
    );
    says("address range of nonsense", cuda.call("cuMemGetAddressRange_v2", &[at(&mut out), at(&mut size), 0x1234]), "");
    says("host pointer of device memory", cuda.call("cuPointerGetAttribute", &[at(&mut out), 4, data]), "");
    let mut kind = 0u32;
    says("memory type", cuda.call("cuPointerGetAttribute", &[at(&mut kind), 2, data]), kind);
    says("memory type of nonsense", cuda.call("cuPointerGetAttribute", &[at(&mut kind), 2, 0x1234]), "");
    says("free", cuda.call("cuMemFree_v2", &[data]), "");
    says("free again", cuda.call("cuMemFree_v2", &[data]), "");
    let pinned = cuda.get("cuMemHostAlloc", &[4096, 0]);
    says(
        "device pointer of pinned",
        cuda.call("cuMemHostGetDevicePointer_v2", &[at(&mut out), pinned, 0]),
        out == pinned,
    );
    says("memory type of pinned", cuda.call("cuPointerGetAttribute", &[at(&mut kind), 2, pinned]), kind);
    says("free pinned as device memory", cuda.call("cuMemFree_v2", &[pinned]), "");
    says("free pinned", cuda.call("cuMemFreeHost", &[pinned]), "");
    says("free pinned again", cuda.call("cuMemFreeHost", &[pinned]), "");
    let managed = cuda.get("cuMemAllocManaged", &[4096, 1]);
    says("memory type of managed", cuda.call("cuPointerGetAttribute", &[at(&mut kind), 2, managed]), kind);
    let mut flag = 9u8;
    says("is managed", cuda.call("cuPointerGetAttribute", &[at(&mut flag), 8, managed]), flag);
    says("prefetch beyond managed", cuda.call("cuMemPrefetchAsync", &[managed, 1 << 30, 0, 0]), "");
    cuda.ok("cuMemFree_v2", &[managed]);
    let own = vec![0u8; 1 << 16];
    let place = (own.as_ptr() as u64).next_multiple_of(4096);
    says("unregister what is not", cuda.call("cuMemHostUnregister", &[place]), "");
    says("register", cuda.call("cuMemHostRegister_v2", &[place, 8192, 0]), "");
    says("register again", cuda.call("cuMemHostRegister_v2", &[place, 8192, 0]), "");
    says("unregister", cuda.call("cuMemHostUnregister", &[place]), "");
    says("allocate async 0 bytes", cuda.call("cuMemAllocAsync", &[at(&mut out), 0, 0]), "");
    says("free async nonsense", cuda.call("cuMemFreeAsync", &[0x1234_5600, 0]), "");
}

fn copies(cuda: &Driver) {
    let data = cuda.get("cuMemAlloc_v2", &[1000]);
    let host = [7u8; 4096];
    let mut back = [0u8; 16];
    let from = host.as_ptr() as u64;
    says("copy in", cuda.call("cuMemcpyHtoD_v2", &[data + 3, from, 5]), "");
    says("set bytes", cuda.call("cuMemsetD8_v2", &[data, 9, 5]), "");
    says("copy back", cuda.call("cuMemcpyDtoH_v2", &[at(&mut back), data, 10]), format!("{:?}", &back[..8]));
    says("copy 0 bytes", cuda.call("cuMemcpyHtoD_v2", &[data, from, 0]), "");
    says("copy to null", cuda.call("cuMemcpyHtoD_v2", &[0, from, 4]), "");
    says("copy to nonsense", cuda.call("cuMemcpyHtoD_v2", &[0x1234, from, 4]), "");
    says("copy far beyond the end", cuda.call("cuMemsetD8_v2", &[data, 0, 1 << 40]), "");
    says("copy back far beyond the end", cuda.call("cuMemcpyDtoD_v2", &[data, data, 1 << 40]), "");
    says("set 32 bits at an odd address", cuda.call("cuMemsetD32_v2", &[data + 2, 1, 1]), "");
    says("set none", cuda.call("cuMemsetD32_v2", &[data, 1, 0]), "");
    says("set rows with a small pitch", cuda.call("cuMemsetD2D8_v2", &[data, 4, 1, 8, 2]), "");
    // Two rows of 4 bytes, 16 apart, to rows that lie 8 apart.
    let mut two_d = [0u64; 16];
    (two_d[2], two_d[3], two_d[6], two_d[9], two_d[11]) = (1, from, 16, 2, data);
    (two_d[13], two_d[14], two_d[15]) = (8, 4, 2);
    says("copy rows", cuda.call("cuMemcpy2D_v2", &[at(&mut two_d)]), "");
    cuda.ok("cuMemcpyDtoH_v2", &[at(&mut back), data, 12]);
    says("rows", 0, format!("{:?}", &back[..12]));
    two_d[14] = 12;
    says("copy rows wider than their pitch", cuda.call("cuMemcpy2D_v2", &[at(&mut two_d)]), "");
    cuda.ok("cuMemFree_v2", &[data]);
    says("copy to what was freed", cuda.call("cuMemcpyHtoD_v2", &[data, from, 4]), "");
}

fn modules(cuda: &Driver) {
    let mut out = 0u64;
    says("load nonsense", cuda.call("cuModuleLoadData", &[at(&mut out), text("this is no PTX")]), "");
    says("load nothing", cuda.call("cuModuleLoadData", &[at(&mut out), text("")]), "");
    says("load null", cuda.call("cuModuleLoadData", &[at(&mut out), 0]), "");
    let wrong = PTX.replace("add.f32 %f1", "add.f33 %f1");
    says("load wrong PTX", cuda.call("cuModuleLoadData", &[at(&mut out), text(&wrong)]), "");
    let newer = PTX.replace("7.0", "99.0");
    says("load PTX of version 99", cuda.call("cuModuleLoadData", &[at(&mut out), text(&newer)]), "");
    says("load a file that is not there", cuda.call("cuModuleLoad", &[at(&mut out), text("/nowhere/at.ptx")]), "");
    let module = cuda.load(PTX);
    says("no such kernel", cuda.call("cuModuleGetFunction", &[at(&mut out), module, text("missing")]), "");
    says("no such variable", cuda.call("cuModuleGetGlobal_v2", &[at(&mut out), 0, module, text("missing")]), "");
    let mut size = 0u64;
    says("variable", cuda.call("cuModuleGetGlobal_v2", &[at(&mut out), at(&mut size), module, text("table")]), size);
    let mut values = [0u32; 4];
    says("its values", cuda.call("cuMemcpyDtoH_v2", &[at(&mut values), out, 16]), format!("{values:?}"));
    let kernel = cuda.kernel(module, "bounded");
    let mut value = 0i32;
    says("its most threads", cuda.call("cuFuncGetAttribute", &[at(&mut value), 0, kernel]), value);
    says("attribute 99", cuda.call("cuFuncGetAttribute", &[at(&mut value), 99, kernel]), "");
    says("too much dynamic shared memory", cuda.call("cuFuncSetAttribute", &[kernel, 8, 1 << 20]), "");
    says("parameter 5", cuda.call("cuFuncGetParamInfo", &[kernel, 5, at(&mut out), 0]), "");
    says("unload", cuda.call("cuModuleUnload", &[module]), "");
}

fn launches(cuda: &Driver) {
    let module = cuda.load(PTX);
    let nothing = cuda.kernel(module, "nothing");
    says("launch", cuda.launch(nothing, 1, 1, 0, 0, &[]), "");
    says("no blocks", cuda.launch(nothing, 0, 1, 0, 0, &[]), "");
    says("no threads", cuda.launch(nothing, 1, 0, 0, 0, &[]), "");
    says("too many threads", cuda.launch(nothing, 1, 1025, 0, 0, &[]), "");
    says("too much shared memory", cuda.launch(nothing, 1, 1, 49_153, 0, &[]), "");
    says("more threads than it was compiled for", cuda.launch(cuda.kernel(module, "bounded"), 1, 65, 0, 0, &[]), "");
    says("ask for shared memory", cuda.call("cuFuncSetAttribute", &[nothing, 8, 65_536]), "");
    says("and use it", cuda.launch(nothing, 1, 1, 65_536, 0, &[]), "");
    says("and more", cuda.launch(nothing, 1, 1, 65_537, 0, &[]), "");
    let tall = [nothing, 1, 65_536, 1, 1, 1, 1, 0, 0, 0, 0];
    says("too many blocks in y", cuda.call("cuLaunchKernel", &tall), "");
    let deep = [nothing, 1, 1, 1, 1, 1, 65, 0, 0, 0, 0];
    says("too many threads in z", cuda.call("cuLaunchKernel", &deep), "");
    let wide = [nothing, 1 << 20, 1, 1, 1024, 1, 1, 0, 0, 0];
    says("too many blocks at once", cuda.call("cuLaunchCooperativeKernel", &wide), "");
    let data = cuda.get("cuMemAlloc_v2", &[400]);
    cuda.ok("cuMemsetD32_v2", &[data, 0, 100]);
    says("add", cuda.launch(cuda.kernel(module, "add"), 4, 32, 0, 0, &[data, 100]), "");
    let mut back = [0f32; 100];
    says("result", cuda.call("cuMemcpyDtoH_v2", &[at(&mut back), data, 400]), back.iter().sum::<f32>());
    let mut buffer = [data, 100];
    let mut size = 8u64;
    let mut extra = [1, at(&mut buffer), 2, at(&mut size), 0];
    let add = cuda.kernel(module, "add");
    let short = [add, 1, 1, 1, 1, 1, 1, 0, 0, 0, at(&mut extra)];
    says("a buffer of arguments that is too small", cuda.call("cuLaunchKernel", &short), "");
    says("no arguments", cuda.call("cuLaunchKernel", &[add, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0]), "");
    let mut count = 0i32;
    says(
        "occupancy of 0 threads",
        cuda.call("cuOccupancyMaxActiveBlocksPerMultiprocessor", &[at(&mut count), nothing, 0, 0]),
        "",
    );
    says(
        "occupancy of 1024",
        cuda.call("cuOccupancyMaxActiveBlocksPerMultiprocessor", &[at(&mut count), nothing, 1024, 0]),
        count,
    );
    says("of 32", cuda.call("cuOccupancyMaxActiveBlocksPerMultiprocessor", &[at(&mut count), nothing, 32, 0]), count);
    says(
        "with shared memory",
        cuda.call("cuOccupancyMaxActiveBlocksPerMultiprocessor", &[at(&mut count), nothing, 32, 60_000]),
        count,
    );
    cuda.ok("cuMemFree_v2", &[data]);
    cuda.ok("cuModuleUnload", &[module]);
}

fn streams(cuda: &Driver) {
    let mut out = 0u64;
    says("stream with flag 7", cuda.call("cuStreamCreate", &[at(&mut out), 7]), "");
    says("event with flag 64", cuda.call("cuEventCreate", &[at(&mut out), 64]), "");
    let stream = cuda.get("cuStreamCreateWithPriority", &[1, (-99i64).cast_unsigned()]);
    let mut priority = 0i32;
    says("priority", cuda.call("cuStreamGetPriority", &[stream, at(&mut priority)]), priority);
    let mut flags = 0u32;
    says("flags", cuda.call("cuStreamGetFlags", &[stream, at(&mut flags)]), flags);
    let (one, two) = (cuda.get("cuEventCreate", &[0]), cuda.get("cuEventCreate", &[0]));
    let quiet = cuda.get("cuEventCreate", &[2]);
    let mut time = 0f32;
    says("query an event that was not recorded", cuda.call("cuEventQuery", &[one]), "");
    says("wait for it", cuda.call("cuStreamWaitEvent", &[stream, one, 0]), "");
    says("time of it", cuda.call("cuEventElapsedTime", &[at(&mut time), one, two]), "");
    cuda.ok("cuEventRecord", &[one, stream]);
    cuda.ok("cuEventRecord", &[two, stream]);
    cuda.ok("cuEventRecord", &[quiet, stream]);
    says("synchronize", cuda.call("cuStreamSynchronize", &[stream]), "");
    says("time", cuda.call("cuEventElapsedTime", &[at(&mut time), one, two]), (0.0..50.0).contains(&time));
    says("time of one without times", cuda.call("cuEventElapsedTime", &[at(&mut time), one, quiet]), "");
    says("query", cuda.call("cuStreamQuery", &[stream]), "");
    says("destroy", cuda.call("cuStreamDestroy_v2", &[stream]), "");
    says("destroy the default stream", cuda.call("cuStreamDestroy_v2", &[0]), "");
}

fn captures(cuda: &Driver) {
    let mut graph = 0u64;
    let stream = cuda.get("cuStreamCreate", &[1]);
    let data = cuda.get("cuMemAlloc_v2", &[16]);
    says("end no capture", cuda.call("cuStreamEndCapture", &[stream, at(&mut graph)]), "");
    says("capture the default stream", cuda.call("cuStreamBeginCapture_v2", &[0, 0]), "");
    says("capture", cuda.call("cuStreamBeginCapture_v2", &[stream, 2]), "");
    says("capture again", cuda.call("cuStreamBeginCapture_v2", &[stream, 2]), "");
    says("set in a capture", cuda.call("cuMemsetD32Async", &[data, 5, 4, stream]), "");
    says("end", cuda.call("cuStreamEndCapture", &[stream, at(&mut graph)]), graph != 0);
    let mut count = 0u64;
    says("nodes", cuda.call("cuGraphGetNodes", &[graph, 0, at(&mut count)]), count);
    let mut run = 0u64;
    says("instantiate with flag 64", cuda.call("cuGraphInstantiateWithFlags", &[at(&mut run), graph, 64]), "");
    says("instantiate", cuda.call("cuGraphInstantiateWithFlags", &[at(&mut run), graph, 0]), "");
    cuda.ok("cuMemsetD32_v2", &[data, 0, 4]);
    says("run", cuda.call("cuGraphLaunch", &[run, stream]), "");
    cuda.ok("cuStreamSynchronize", &[stream]);
    let mut back = [0u32; 4];
    cuda.ok("cuMemcpyDtoH_v2", &[at(&mut back), data, 16]);
    says("result", 0, format!("{back:?}"));
    cuda.ok("cuStreamBeginCapture_v2", &[stream, 2]);
    says("synchronize in a capture", cuda.call("cuStreamSynchronize", &[stream]), "");
    says("go on", cuda.call("cuMemsetD32Async", &[data, 5, 4, stream]), "");
    says("end it", cuda.call("cuStreamEndCapture", &[stream, at(&mut graph)]), graph);
    let other = cuda.get("cuStreamCreate", &[1]);
    let event = cuda.get("cuEventCreate", &[2]);
    cuda.ok("cuStreamBeginCapture_v2", &[stream, 2]);
    cuda.ok("cuEventRecord", &[event, stream]);
    says("query an event of a capture", cuda.call("cuEventQuery", &[event]), "");
    says("end after that", cuda.call("cuStreamEndCapture", &[stream, at(&mut graph)]), graph);
    cuda.ok("cuStreamBeginCapture_v2", &[stream, 2]);
    cuda.ok("cuEventRecord", &[event, stream]);
    says("another stream joins", cuda.call("cuStreamWaitEvent", &[other, event, 0]), "");
    says("and works", cuda.call("cuMemsetD32Async", &[data, 6, 4, other]), "");
    says("end it there", cuda.call("cuStreamEndCapture", &[other, at(&mut graph)]), "");
    says("end without it", cuda.call("cuStreamEndCapture", &[stream, at(&mut graph)]), graph);
}

/// Faults of kernels, each of which ends its context.
pub const FAULTS: [&str; 8] =
    ["wild", "null", "odd", "trap", "beyond", "freed", "copy from null", "wrong machine code"];

/// Makes a kernel fail, and asks what the driver then answers.
pub fn fault(cuda: &Driver, name: &str) {
    cuda.ok("cuInit", &[0]);
    let context = cuda.get("cuDevicePrimaryCtxRetain", &[0]);
    cuda.ok("cuCtxSetCurrent", &[context]);
    let module = cuda.load(PTX);
    let data = cuda.get("cuMemAlloc_v2", &[64 << 20]);
    if name == "copy from null" {
        return says(name, cuda.call("cuMemcpyHtoD_v2", &[data, 0, 4]), "");
    }
    if name == "wrong machine code" {
        let elf = format!("\u{7f}ELF{}", "\u{1}".repeat(100));
        let mut out = 0u64;
        return says(name, cuda.call("cuModuleLoadData", &[at(&mut out), text(&elf)]), "");
    }
    let (kernel, args) = match name {
        "wild" => ("wild", vec![1 << 60]),
        "null" => ("wild", vec![0]),
        "odd" => ("odd", vec![data]),
        "freed" => ("wild", vec![data]),
        _ => (name, vec![]),
    };
    let kernel = cuda.kernel(module, kernel);
    if name == "freed" {
        cuda.ok("cuMemFree_v2", &[data]);
    }
    let mut out = 0u64;
    says(&format!("{name}: launch"), cuda.launch(kernel, 1, 1, 0, 0, &args), "");
    says(&format!("{name}: synchronize"), cuda.call("cuCtxSynchronize", &[]), "");
    says(&format!("{name}: again"), cuda.call("cuCtxSynchronize", &[]), "");
    says(&format!("{name}: allocate"), cuda.call("cuMemAlloc_v2", &[at(&mut out), 64]), "");
    says(&format!("{name}: launch again"), cuda.launch(cuda_kernel(cuda, module), 1, 1, 0, 0, &[]), "");
    says(&format!("{name}: stream"), cuda.call("cuStreamCreate", &[at(&mut out), 0]), "");
    says(&format!("{name}: device"), cuda.call("cuCtxGetDevice", &[at(&mut out)]), "");
    says(&format!("{name}: name of the device"), cuda.call("cuDeviceGet", &[at(&mut out), 0]), "");
    says(&format!("{name}: reset"), cuda.call("cuDevicePrimaryCtxReset_v2", &[0]), "");
}

/// The kernel that does nothing, or 0 if the driver does not give it any more.
fn cuda_kernel(cuda: &Driver, module: u64) -> u64 {
    let mut out = 0u64;
    if cuda.call("cuModuleGetFunction", &[at(&mut out), module, text("nothing")]) == 0 { out } else { 0 }
}
