//! Programs that are wrong, each of which is told with its call, and programs that are right, about which nothing is said. They
//! call the driver's functions as a C program does.

#![allow(unsafe_code, reason = "sets the variables that the driver reads, before any thread is there")]

mod caller;

use caller::{Driver, PTX, at};
use serde_json::Value;

/// What every program has: a context is current, and there are two streams that do not wait for the default one.
struct World<'a> {
    cuda: &'a Driver,
    module: u64,
    streams: [u64; 2],
}

impl World<'_> {
    fn alloc(&self, bytes: u64) -> u64 {
        self.cuda.get("cuMemAlloc_v2", &[bytes])
    }

    fn zeros(&self, bytes: u64) -> u64 {
        let data = self.alloc(bytes);
        self.ok("cuMemsetD8_v2", &[data, 0, bytes]);
        self.ok("cuCtxSynchronize", &[]);
        data
    }

    fn pinned(&self, bytes: u64) -> u64 {
        self.cuda.get("cuMemHostAlloc", &[bytes, 0])
    }

    #[track_caller]
    fn ok(&self, name: &str, args: &[u64]) {
        self.cuda.ok(name, args);
    }

    /// Calls a function that may fail.
    fn call(&self, name: &str, args: &[u64]) {
        self.cuda.call(name, args);
    }

    fn run(&self, kernel: &str, stream: u64, args: &[u64]) -> u32 {
        self.cuda.launch(self.cuda.kernel(self.module, kernel), 1, 32, 0, stream, args)
    }

    fn event(&self, stream: u64) -> u64 {
        let event = self.cuda.get("cuEventCreate", &[2]);
        self.ok("cuEventRecord", &[event, stream]);
        event
    }

    fn back(&self, data: u64, bytes: u64) -> u32 {
        let host = vec![0u8; bytes as usize];
        self.cuda.call("cuMemcpyDtoH_v2", &[host.as_ptr() as u64, data, bytes])
    }

    fn free(&self, data: u64) {
        self.ok("cuMemFree_v2", &[data]);
    }
}

type Program = fn(&World<'_>);

/// Kind and call that the first finding must name, and the program.
const WRONG: &[(&str, &str, Program)] = &[
    ("use after free", "cuMemcpyDtoH_v2", |w| {
        let data = w.zeros(64);
        w.free(data);
        w.back(data, 64);
    }),
    ("use after free", "cuMemcpyHtoD_v2", |w| {
        let data = w.alloc(64);
        w.free(data);
        let host = [0u8; 64];
        w.call("cuMemcpyHtoD_v2", &[data + 8, host.as_ptr() as u64, 8]);
    }),
    ("use after free", "cuMemsetD8_v2", |w| {
        let data = w.alloc(64);
        w.free(data);
        w.call("cuMemsetD8_v2", &[data, 0, 64]);
    }),
    ("use after free", "cuMemcpyDtoDAsync_v2", |w| {
        let (one, two) = (w.zeros(64), w.zeros(64));
        w.ok("cuMemFreeAsync", &[one, 0]);
        w.call("cuMemcpyDtoDAsync_v2", &[two, one, 64, 0]);
        w.free(two);
    }),
    ("double free", "cuMemFree_v2", |w| {
        let data = w.alloc(64);
        w.free(data);
        w.call("cuMemFree_v2", &[data]);
    }),
    ("double free", "cuMemFreeAsync", |w| {
        let data = w.cuda.get("cuMemAllocAsync", &[64, w.streams[0]]);
        w.ok("cuMemFreeAsync", &[data, w.streams[0]]);
        w.call("cuMemFreeAsync", &[data, w.streams[0]]);
    }),
    ("double free", "cuMemFreeHost", |w| {
        let data = w.pinned(64);
        w.ok("cuMemFreeHost", &[data]);
        w.call("cuMemFreeHost", &[data]);
    }),
    ("wrong free", "cuMemFree_v2", |w| {
        let data = w.alloc(1024);
        w.call("cuMemFree_v2", &[data + 256]);
        w.free(data);
    }),
    ("wrong free", "cuMemFree_v2", |w| {
        let data = w.pinned(64);
        w.call("cuMemFree_v2", &[data]);
        w.ok("cuMemFreeHost", &[data]);
    }),
    ("wrong free", "cuMemFree_v2", |w| w.call("cuMemFree_v2", &[0x1000])),
    ("never freed", "cuMemAlloc_v2", |w| {
        in_context(w, |w| {
            w.alloc(64);
        });
    }),
    ("never freed", "cuMemHostAlloc", |w| {
        in_context(w, |w| {
            w.pinned(64);
        });
    }),
    ("never freed", "cuMemAllocManaged", |w| {
        in_context(w, |w| {
            w.cuda.get("cuMemAllocManaged", &[64, 1]);
        });
    }),
    ("never freed", "cuMemAllocAsync", |w| {
        in_context(w, |w| {
            w.cuda.get("cuMemAllocAsync", &[64, 0]);
        });
    }),
    ("copied back before it was written", "cuMemcpyDtoH_v2", |w| {
        let data = w.alloc(64);
        w.back(data, 64);
        w.free(data);
    }),
    ("copied back before it was written", "cuMemcpyDtoH_v2", |w| {
        let data = w.alloc(64);
        w.ok("cuMemsetD32_v2", &[data, 0, 15]);
        w.back(data, 64);
        w.free(data);
    }),
    ("copied back before it was written", "cuMemcpyDtoH_v2", |w| {
        // The kernel writes 32 of 33 elements.
        let data = w.alloc(132);
        w.run("fill", 0, &[data]);
        w.back(data, 132);
        w.free(data);
    }),
    ("copied back before it was written", "cuMemcpyDtoHAsync_v2", |w| {
        let (data, host) = (w.alloc(64), w.pinned(64));
        w.ok("cuMemcpyDtoHAsync_v2", &[host, data, 64, w.streams[0]]);
        w.ok("cuStreamSynchronize", &[w.streams[0]]);
        w.ok("cuMemFreeHost", &[host]);
        w.free(data);
    }),
    ("copy out of bounds", "cuMemcpyDtoH_v2", |w| {
        let data = w.zeros(64);
        w.back(data, 65);
        w.free(data);
    }),
    ("copy out of bounds", "cuMemcpyHtoD_v2", |w| {
        let data = w.alloc(64);
        let host = [0u8; 128];
        w.call("cuMemcpyHtoD_v2", &[data + 32, host.as_ptr() as u64, 64]);
        w.free(data);
    }),
    ("copy out of bounds", "cuMemsetD32_v2", |w| {
        let data = w.alloc(64);
        w.call("cuMemsetD32_v2", &[data, 0, 17]);
        w.free(data);
    }),
    ("copy out of bounds", "cuMemcpyDtoD_v2", |w| {
        let (one, two) = (w.zeros(64), w.alloc(32));
        w.call("cuMemcpyDtoD_v2", &[two, one, 64]);
        w.free(one);
        w.free(two);
    }),
    ("copy out of bounds", "cuMemcpy2D_v2", |w| {
        let (data, host) = (w.zeros(256), [0u8; 256]);
        let mut copy = [0u64; 16];
        (copy[2], copy[3], copy[6], copy[9], copy[11], copy[13]) = (1, host.as_ptr() as u64, 64, 2, data, 64);
        (copy[14], copy[15]) = (64, 5);
        w.call("cuMemcpy2D_v2", &[at(&mut copy)]);
        w.free(data);
    }),
    ("copy out of bounds", "cuMemcpyHtoD_v2", |w| {
        let host = [0u8; 64];
        w.call("cuMemcpyHtoD_v2", &[0x1234, host.as_ptr() as u64, 64]);
    }),
    ("race between streams", "cuMemsetD8Async", |w| {
        let data = w.zeros(64);
        w.ok("cuMemsetD8Async", &[data, 1, 64, w.streams[0]]);
        w.ok("cuMemsetD8Async", &[data + 63, 2, 1, w.streams[1]]);
        w.ok("cuCtxSynchronize", &[]);
        w.free(data);
    }),
    ("race between streams", "cuLaunchKernel", |w| {
        let data = w.zeros(128);
        w.ok("cuMemsetD8Async", &[data, 1, 128, w.streams[0]]);
        w.run("add", w.streams[1], &[data, 32]);
        w.ok("cuCtxSynchronize", &[]);
        w.free(data);
    }),
    ("race between streams", "cuLaunchKernel", |w| {
        let data = w.zeros(128);
        w.run("add", w.streams[0], &[data, 32]);
        w.run("fill", w.streams[1], &[data]);
        w.ok("cuCtxSynchronize", &[]);
        w.free(data);
    }),
    ("race between streams", "cuMemcpyDtoHAsync_v2", |w| {
        let (data, host) = (w.zeros(128), w.pinned(128));
        w.run("add", w.streams[0], &[data, 32]);
        w.ok("cuMemcpyDtoHAsync_v2", &[host, data, 128, w.streams[1]]);
        w.ok("cuCtxSynchronize", &[]);
        w.free(data);
        w.ok("cuMemFreeHost", &[host]);
    }),
    ("race between streams", "cuLaunchKernel", |w| {
        // The default stream does not wait for streams that were made not to wait.
        let data = w.zeros(128);
        w.run("add", w.streams[0], &[data, 32]);
        w.run("add", 0, &[data, 32]);
        w.ok("cuCtxSynchronize", &[]);
        w.free(data);
    }),
    ("race between streams", "cuLaunchKernel", |w| {
        // The event is recorded before the work that it should order.
        let data = w.zeros(128);
        let event = w.event(w.streams[0]);
        w.run("add", w.streams[0], &[data, 32]);
        w.ok("cuStreamWaitEvent", &[w.streams[1], event, 0]);
        w.run("add", w.streams[1], &[data, 32]);
        w.ok("cuCtxSynchronize", &[]);
        w.free(data);
    }),
    ("race between streams", "cuMemFreeAsync", |w| {
        let data = w.zeros(128);
        w.run("add", w.streams[0], &[data, 32]);
        w.ok("cuMemFreeAsync", &[data, w.streams[1]]);
        w.ok("cuCtxSynchronize", &[]);
    }),
    ("race between streams", "cuLaunchKernel", |w| {
        // One kernel updates atomically, the other one stores.
        let data = w.zeros(128);
        w.run("count", w.streams[0], &[data]);
        w.run("fill", w.streams[1], &[data]);
        w.ok("cuCtxSynchronize", &[]);
        w.free(data);
    }),
    ("arguments that do not fit", "cuLaunchKernel", |w| {
        // The count is an `int`, and the kernel takes 8 bytes.
        let data = w.zeros(256);
        let args = [32u32, 0, 0, 0];
        let mut pointer = data;
        let places = [at(&mut pointer), at(&mut pointer) + 4];
        let add = w.cuda.kernel(w.module, "add");
        w.call("cuLaunchKernel", &[add, 1, 1, 1, 1, 1, 1, 0, 0, places.as_ptr() as u64, 0]);
        w.ok("cuCtxSynchronize", &[]);
        assert_eq!(args[1], 0);
        w.free(data);
    }),
    ("arguments that do not fit", "cuLaunchKernel", |w| {
        let data = w.zeros(128);
        let (mut buffer, mut bytes) = ([data, 32], 8u64);
        let mut extra = [1, at(&mut buffer), 2, at(&mut bytes), 0];
        let add = w.cuda.kernel(w.module, "add");
        w.call("cuLaunchKernel", &[add, 1, 1, 1, 1, 1, 1, 0, 0, 0, at(&mut extra)]);
        w.free(data);
    }),
    ("arguments that do not fit", "cuLaunchKernel", |w| {
        let data = w.zeros(128);
        let (mut buffer, mut bytes) = ([data, 32, 0], 24u64);
        let mut extra = [1, at(&mut buffer), 2, at(&mut bytes), 0];
        let add = w.cuda.kernel(w.module, "add");
        w.call("cuLaunchKernel", &[add, 1, 1, 1, 1, 1, 1, 0, 0, 0, at(&mut extra)]);
        w.ok("cuCtxSynchronize", &[]);
        w.free(data);
    }),
    ("ignored error", "cuLaunchKernel", |w| {
        let data = w.zeros(4096);
        w.cuda.launch(w.cuda.kernel(w.module, "fill"), 1, 2048, 0, 0, &[data]);
        w.back(data, 4096);
        w.free(data);
    }),
    ("ignored error", "cuLaunchKernel", |w| {
        let data = w.zeros(128);
        w.cuda.launch(w.cuda.kernel(w.module, "add"), 1, 32, 100_000, 0, &[data, 32]);
        w.back(data, 128);
        w.free(data);
    }),
    ("host access before it waited", "cuMemcpyDtoHAsync_v2", |w| {
        let (data, host) = (w.zeros(64), w.pinned(64));
        w.ok("cuMemcpyDtoHAsync_v2", &[host, data, 64, w.streams[0]]);
        peek(host);
        w.ok("cuStreamSynchronize", &[w.streams[0]]);
        w.ok("cuMemFreeHost", &[host]);
        w.free(data);
    }),
    ("host access before it waited", "cuMemcpyHtoDAsync_v2", |w| {
        let (data, host) = (w.zeros(64), w.pinned(64));
        w.ok("cuMemcpyHtoDAsync_v2", &[data, host, 64, w.streams[0]]);
        poke(host);
        w.ok("cuStreamSynchronize", &[w.streams[0]]);
        w.ok("cuMemFreeHost", &[host]);
        w.free(data);
    }),
    ("host access before it waited", "cuLaunchKernel", |w| {
        let data = w.cuda.get("cuMemAllocManaged", &[128, 1]);
        w.run("fill", w.streams[0], &[data]);
        peek(data + 64);
        w.ok("cuStreamSynchronize", &[w.streams[0]]);
        w.free(data);
    }),
    ("host access before it waited", "cuLaunchKernel", |w| {
        // The event comes before the kernel.
        let data = w.cuda.get("cuMemAllocManaged", &[128, 1]);
        let event = w.event(w.streams[0]);
        w.run("fill", w.streams[0], &[data]);
        w.ok("cuEventSynchronize", &[event]);
        peek(data);
        w.ok("cuStreamSynchronize", &[w.streams[0]]);
        w.free(data);
    }),
];

/// Programs that are right.
const RIGHT: &[(&str, Program)] = &[
    ("allocate, copy, launch, copy back, free", |w| {
        let (data, host) = (w.alloc(128), [1f32; 32]);
        w.ok("cuMemcpyHtoD_v2", &[data, host.as_ptr() as u64, 128]);
        w.run("add", 0, &[data, 32]);
        w.back(data, 128);
        w.free(data);
    }),
    ("the kernel writes all that is copied back", |w| {
        let data = w.alloc(128);
        w.run("fill", 0, &[data]);
        w.back(data, 128);
        w.free(data);
    }),
    ("a part is written and copied back", |w| {
        let data = w.alloc(256);
        w.ok("cuMemsetD8_v2", &[data + 16, 1, 32]);
        w.back(data + 20, 28);
        w.free(data);
    }),
    ("an event orders two streams", |w| {
        let data = w.zeros(128);
        w.run("add", w.streams[0], &[data, 32]);
        let event = w.event(w.streams[0]);
        w.ok("cuStreamWaitEvent", &[w.streams[1], event, 0]);
        w.run("add", w.streams[1], &[data, 32]);
        w.ok("cuStreamSynchronize", &[w.streams[1]]);
        w.back(data, 128);
        w.free(data);
    }),
    ("the host waits between two streams", |w| {
        let data = w.zeros(128);
        w.run("add", w.streams[0], &[data, 32]);
        w.ok("cuStreamSynchronize", &[w.streams[0]]);
        w.run("add", w.streams[1], &[data, 32]);
        w.ok("cuCtxSynchronize", &[]);
        w.free(data);
    }),
    ("the host asks until an event has happened", |w| {
        let data = w.zeros(128);
        w.run("add", w.streams[0], &[data, 32]);
        let event = w.event(w.streams[0]);
        while w.cuda.call("cuEventQuery", &[event]) != 0 {}
        w.run("add", w.streams[1], &[data, 32]);
        w.ok("cuCtxSynchronize", &[]);
        w.free(data);
    }),
    ("two streams write different parts", |w| {
        let data = w.alloc(256);
        w.run("fill", w.streams[0], &[data]);
        w.run("fill", w.streams[1], &[data + 128]);
        w.ok("cuCtxSynchronize", &[]);
        w.back(data, 256);
        w.free(data);
    }),
    ("two streams read the same", |w| {
        let (data, one, two) = (w.zeros(64), w.alloc(64), w.alloc(64));
        w.ok("cuMemcpyDtoDAsync_v2", &[one, data, 64, w.streams[0]]);
        w.ok("cuMemcpyDtoDAsync_v2", &[two, data, 64, w.streams[1]]);
        w.ok("cuCtxSynchronize", &[]);
        w.free(data);
        w.free(one);
        w.free(two);
    }),
    ("two streams update atomically", |w| {
        let data = w.zeros(64);
        w.run("count", w.streams[0], &[data]);
        w.run("count", w.streams[1], &[data]);
        w.ok("cuCtxSynchronize", &[]);
        w.back(data, 64);
        w.free(data);
    }),
    ("blocking streams and the default stream wait for each other", |w| {
        let (data, stream) = (w.alloc(128), w.cuda.get("cuStreamCreate", &[0]));
        w.run("fill", stream, &[data]);
        w.run("add", 0, &[data, 32]);
        w.run("add", stream, &[data, 32]);
        w.back(data, 128);
        w.ok("cuStreamDestroy_v2", &[stream]);
        w.free(data);
    }),
    ("pinned memory is read after the host has waited", |w| {
        let (data, host) = (w.zeros(64), w.pinned(64));
        w.ok("cuMemcpyDtoHAsync_v2", &[host, data, 64, w.streams[0]]);
        w.ok("cuStreamSynchronize", &[w.streams[0]]);
        peek(host);
        poke(host);
        w.ok("cuMemFreeHost", &[host]);
        w.free(data);
    }),
    ("pinned memory is read while it is only read from", |w| {
        let (data, host) = (w.zeros(64), w.pinned(64));
        poke(host);
        w.ok("cuMemcpyHtoDAsync_v2", &[data, host, 64, w.streams[0]]);
        peek(host);
        w.ok("cuStreamSynchronize", &[w.streams[0]]);
        poke(host);
        w.ok("cuMemFreeHost", &[host]);
        w.free(data);
    }),
    ("another part of pinned memory is written", |w| {
        let (data, host) = (w.zeros(64), w.pinned(8192));
        w.ok("cuMemcpyHtoDAsync_v2", &[data, host, 64, w.streams[0]]);
        poke(host + 64);
        poke(host + 4096);
        w.ok("cuStreamSynchronize", &[w.streams[0]]);
        w.ok("cuMemFreeHost", &[host]);
        w.free(data);
    }),
    ("managed memory is shared in turns", |w| {
        let data = w.cuda.get("cuMemAllocManaged", &[128, 1]);
        poke(data);
        w.run("add", w.streams[0], &[data, 32]);
        w.ok("cuStreamSynchronize", &[w.streams[0]]);
        peek(data);
        poke(data);
        w.run("add", w.streams[1], &[data, 32]);
        w.ok("cuCtxSynchronize", &[]);
        peek(data + 4);
        w.free(data);
    }),
    ("memory is allocated and freed in the order of a stream", |w| {
        let data = w.cuda.get("cuMemAllocAsync", &[128, w.streams[0]]);
        w.run("fill", w.streams[0], &[data]);
        w.ok("cuMemFreeAsync", &[data, w.streams[0]]);
        w.ok("cuStreamSynchronize", &[w.streams[0]]);
    }),
    ("a free waits for all streams", |w| {
        let data = w.zeros(128);
        w.run("add", w.streams[0], &[data, 32]);
        w.free(data);
    }),
    ("a graph runs twice", |w| {
        let (data, stream) = (w.alloc(128), w.streams[0]);
        w.ok("cuStreamBeginCapture_v2", &[stream, 2]);
        w.run("fill", stream, &[data]);
        w.run("add", stream, &[data, 32]);
        let (mut graph, mut run) = (0u64, 0u64);
        w.ok("cuStreamEndCapture", &[stream, at(&mut graph)]);
        w.ok("cuGraphInstantiateWithFlags", &[at(&mut run), graph, 0]);
        w.ok("cuGraphLaunch", &[run, stream]);
        w.ok("cuGraphLaunch", &[run, stream]);
        w.ok("cuStreamSynchronize", &[stream]);
        w.back(data, 128);
        w.free(data);
    }),
    ("a launch that fails is made again", |w| {
        let data = w.alloc(128);
        let fill = w.cuda.kernel(w.module, "fill");
        assert_eq!(w.cuda.launch(fill, 1, 2048, 0, 0, &[data]), 1);
        assert_eq!(w.cuda.launch(fill, 1, 32, 0, 0, &[data]), 0);
        w.back(data, 128);
        w.free(data);
    }),
    ("an error is asked about", |w| {
        let (data, mut name) = (w.zeros(128), 0u64);
        let code = w.cuda.launch(w.cuda.kernel(w.module, "fill"), 1, 2048, 0, 0, &[data]);
        w.ok("cuGetErrorName", &[code.into(), at(&mut name)]);
        w.back(data, 128);
        w.free(data);
    }),
    ("variables have values from the start", |w| {
        let (mut table, mut bytes) = (0u64, 0u64);
        w.ok("cuModuleGetGlobal_v2", &[at(&mut table), at(&mut bytes), w.module, caller::text("table")]);
        w.back(table, bytes);
    }),
    ("registered memory is copied from", |w| {
        let (data, mut host) = (w.alloc(4096), vec![0u8; 3 * 4096]);
        let place = (host.as_mut_ptr() as u64).next_multiple_of(4096);
        w.ok("cuMemHostRegister_v2", &[place, 4096, 0]);
        w.ok("cuMemcpyHtoDAsync_v2", &[data, place, 4096, w.streams[0]]);
        w.ok("cuStreamSynchronize", &[w.streams[0]]);
        poke(place);
        w.ok("cuMemHostUnregister", &[place]);
        w.back(data, 4096);
        w.free(data);
    }),
];

/// Runs a program in a context of its own, which then ends.
fn in_context(w: &World<'_>, program: Program) {
    let context = w.cuda.get("cuCtxCreate_v2", &[0, 0]);
    program(w);
    w.ok("cuCtxDestroy_v2", &[context]);
}

/// Reads memory as the host does.
fn peek(address: u64) {
    // SAFETY: memory that the driver has given to the host.
    std::hint::black_box(unsafe { (address as *const u8).read_volatile() });
}

/// Writes memory as the host does.
fn poke(address: u64) {
    // SAFETY: memory that the driver has given to the host.
    unsafe { (address as *mut u8).write_volatile(1) }
}

#[test]
fn each_wrong_program_is_told_with_its_call_and_right_ones_are_not() {
    let folder = std::env::temp_dir().join(format!("driver-faults-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let report = folder.join("report.jsonl");
    // SAFETY: nothing else runs yet that reads variables.
    unsafe {
        std::env::set_var("SIMT_CHECK", "1");
        std::env::set_var("SIMT_REPORT", &report);
    }
    let cuda = Driver(Box::new(cuda::address));
    cuda.ok("cuInit", &[0]);
    let context = cuda.get("cuDevicePrimaryCtxRetain", &[0]);
    cuda.ok("cuCtxSetCurrent", &[context]);
    let module = cuda.load(PTX);
    let mut told = 0;
    let mut new = |program: Program| {
        // Streams of its own, so that no program knows what another one has done.
        let streams = [0; 2].map(|_| cuda.get("cuStreamCreate", &[1]));
        program(&World { cuda: &cuda, module, streams });
        let text = std::fs::read_to_string(&report).unwrap_or_default();
        let lines: Vec<Value> = text.lines().skip(told).map(|line| serde_json::from_str(line).unwrap()).collect();
        told += lines.len();
        lines
    };
    let mut wrong = vec![];
    for (number, &(kind, call, program)) in WRONG.iter().enumerate() {
        let found = new(program);
        let is = found.first().is_some_and(|first| first["kind"] == kind && first["call"] == call);
        let at_line = found
            .first()
            .is_some_and(|first| first["places"][0]["file"].as_str().is_some_and(|file| file.ends_with("faults.rs")));
        if !is || !at_line && cfg!(target_os = "linux") && cfg!(debug_assertions) && has_lines() {
            wrong.push(format!("{number}: {kind} by {call}, but: {found:#?}"));
        }
    }
    for &(name, program) in RIGHT {
        let found = new(program);
        if !found.is_empty() {
            wrong.push(format!("{name} is right, but: {found:#?}"));
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(WRONG.len() >= 40 && RIGHT.len() >= 20);
}

/// Whether this program was built with debug information, which the workspace's profile leaves out.
fn has_lines() -> bool {
    option_env!("CARGO_PROFILE_DEV_DEBUG").is_some_and(|level| level != "none" && level != "0")
}
