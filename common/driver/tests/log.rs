//! The log of what a program did: each call with what it was about, and clocks that tell what may overlap.

#![allow(unsafe_code, reason = "sets the variables that the driver reads, before any thread is there")]

mod script;

use script::Script;
use serde_json::Value;

/// Two kernels in two streams that nothing orders, a third one after an event, and a copy back.
const PROGRAM: &str = "cuStreamCreate &s0 1; cuStreamCreate &s1 1; cuEventCreate &e 0; cuEventCreate &f 0; zeros a 128; \
    cuMemHostAlloc &h 128 0; cuMemAlloc_v2 &b 128; cuMemcpyHtoDAsync_v2 b h 128 s1; launch add 1 32 0 s0 (a 32); cuEventRecord e s0; \
    cuStreamWaitEvent s1 e 0; launch add 1 32 0 s1 (a 32); cuEventRecord f s1; cuEventSynchronize f; cuEventElapsedTime &ms e f; \
    back a+64 64; ?cuMemFree_v2 a+4; cuMemFree_v2 a; cuMemFreeHost h; cuDevicePrimaryCtxReset_v2 0";

#[test]
fn a_program_is_written_down_call_by_call() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.jsonl");
    // SAFETY: nothing else runs yet that reads variables.
    unsafe {
        for (name, value) in
            [("SIMT_CHECK", "1".as_ref()), ("SIMT_COUNTERS", "1".as_ref()), ("SIMT_LOG", file.as_os_str())]
        {
            std::env::set_var(name, value);
        }
        std::env::set_var("SIMT_REPORT", folder.path().join("report.jsonl"));
    }
    let mut script = Script::new(simt_driver::address);
    script.run("cuInit 0; cuDevicePrimaryCtxRetain &c 0; cuCtxSetCurrent c; cuModuleLoadData &module \"PTX\"");
    script.run(PROGRAM);
    let text = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |did: &str| lines.iter().filter(|line| line["did"] == did).collect::<Vec<_>>();
    let said =
        |line: &Value| format!("{} {}", line["did"].as_str().unwrap(), line["call"].as_str().unwrap_or_default());
    let order: Vec<String> = lines.iter().map(said).collect();
    let expected = "load cuModuleLoadData, allocate cuMemAlloc_v2, fill cuMemsetD8_v2, synchronize cuCtxSynchronize, \
        allocate cuMemHostAlloc, allocate cuMemAlloc_v2, copy cuMemcpyHtoDAsync_v2, launch cuLaunchKernel, record cuEventRecord, \
        wait cuStreamWaitEvent, launch cuLaunchKernel, record cuEventRecord, synchronize cuEventSynchronize, \
        elapsed cuEventElapsedTime, copy cuMemcpyDtoH_v2, synchronize cuMemcpyDtoH_v2, error cuMemFree_v2, free cuMemFree_v2, \
        free cuMemFreeHost, leak cuDevicePrimaryCtxReset_v2, free cuDevicePrimaryCtxReset_v2";
    assert_eq!(order.join(", "), expected);
    // What overlaps: neither clock knows the other's step. The second launch waits for the first.
    let after = |a: &Value, b: &Value| {
        let at = |clock: &Value, line: &Value| {
            clock["clock"][line["actor"].as_u64().unwrap() as usize].as_u64().unwrap_or(0)
        };
        at(b, a) >= at(a, a)
    };
    let (copies, launches, allocated) = (of("copy"), of("launch"), of("allocate"));
    assert!(!after(copies[0], launches[0]) && !after(launches[0], copies[0]), "{text}");
    assert!(
        after(launches[0], launches[1]) && after(copies[0], launches[1]) && after(launches[1], copies[1]),
        "{text}"
    );
    let number = &allocated[0]["allocation"];
    assert_eq!(
        launches[0]["arguments"],
        serde_json::json!([{ "memory": "device", "allocation": number, "offset": 0 }, 32])
    );
    assert_eq!(launches[0]["writes"], serde_json::json!([[number, 128]]));
    assert_eq!((&launches[0]["block"][0], &launches[0]["grid"][0]), (&32.into(), &1.into()));
    assert!(
        launches[0]["counters"]["global_store_requests"] == 1 && launches[0]["instructions"].as_u64() > Some(4),
        "{text}"
    );
    assert_eq!((&copies[0]["from"]["memory"], &copies[1]["to"]["memory"]), (&"pinned".into(), &"host".into()));
    assert_eq!((&copies[1]["from"]["offset"], &copies[1]["bytes"]), (&64.into(), &64.into()));
    assert_eq!(of("error")[0]["code"], "CUDA_ERROR_INVALID_VALUE");
    assert_eq!(of("leak")[0]["allocation"], allocated[2]["allocation"]);
    assert!(of("elapsed")[0]["ms"].as_f64() > Some(0.0), "{text}");
}
