//! Compares the counters with what Nsight Compute read on an H100 for the same PTX: `launches.readings.json.gz`,
//! `sharing.readings.json.gz` and `copies.readings.json.gz`, recorded by `record.py`. `cargo x counters` compares those of the course's own
//! kernels.

use super::sections;
use serde_json::Value;
use simt::{Arg, Counters, Counts, Dim3, GlobalMemory, LaunchConfig, Module};
use std::collections::BTreeMap;

fn size(value: &Value) -> Dim3 {
    let part = |index: usize| value[index].as_u64().unwrap_or(1) as u32;
    Dim3::new(part(0), part(1), part(2))
}

/// Returns the kernels that the launches use, by name. They are kept in `pattern.ptx.gz` and `copy.ptx.gz`.
fn kernels() -> BTreeMap<String, String> {
    ["counters/pattern.ptx", "counters/copy.ptx"].into_iter().flat_map(sections::read).collect()
}

fn simulate(ptx: &str, launch: &Value) -> Counts {
    let kernel = Module::parse(ptx).unwrap().kernel("matmul").unwrap();
    let number = |value: &Value| value.as_u64().unwrap();
    let mut memory = GlobalMemory::new();
    let mut arguments = vec![];
    for (name, bytes) in ["a", "b", "c"].into_iter().zip(launch["bytes"].as_array().unwrap()) {
        let pointer = memory.alloc(name, number(bytes), 4).unwrap();
        memory.fill(pointer, 1.0f32).unwrap();
        arguments.push(Arg::Pointer(pointer));
        if name == "b" {
            let start: Vec<i32> = serde_json::from_value(launch[name].clone()).unwrap();
            memory.upload(pointer, 0, &start).unwrap();
        }
    }
    arguments.extend(["m", "n", "k"].map(|name| Arg::I32(number(&launch[name]) as i32)));
    let mut config = LaunchConfig::new(size(&launch["grid"]), size(&launch["block"]));
    config.dynamic_shared_bytes = number(&launch["shared_bytes"]) as u32;
    config.shared_opt_in = true;
    let mut counters = Counters::new();
    simt::launch(&kernel, &mut memory, &config, &arguments, &mut counters).unwrap();
    counters.total()
}

/// Returns the counts to compare with a reading, as (metric, simulated, read).
fn compare(counts: &Counts, launch: &Value) -> Vec<(&'static str, u64, u64)> {
    let read = |name: &str| launch["metrics"][name].as_u64().unwrap_or_else(|| panic!("no {name}"));
    let global = |kind: &str, op: &str| read(&format!("l1tex__t_{kind}_pipe_lsu_mem_global_op_{op}.sum"));
    let wavefronts = read("memory_l1_wavefronts_shared");
    let passes = counts.shared_load_wavefronts + counts.shared_store_wavefronts;
    let conflicts = counts.shared_load_bank_conflicts + counts.shared_store_bank_conflicts;
    vec![
        ("fma_threads", counts.fma_threads, read("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum")),
        ("global_load_requests", counts.global_load_requests, global("requests", "ld")),
        ("global_load_sectors", counts.global_load_sectors, global("sectors", "ld")),
        ("global_store_requests", counts.global_store_requests, global("requests", "st")),
        ("global_store_sectors", counts.global_store_sectors, global("sectors", "st")),
        ("shared wavefronts", passes, wavefronts),
        ("excess shared wavefronts", conflicts, wavefronts - read("memory_l1_wavefronts_shared_ideal")),
    ]
}

/// Returns the launches of a list. Each gets the fields that the record stores once for all, and its readings by metric name.
fn readings(list: &str) -> Vec<Value> {
    let text = sections::text(format!("counters/{list}.readings.json"));
    let recorded: Value = serde_json::from_str(&text).unwrap();
    let names = recorded["metrics"].as_array().unwrap();
    let mut launches = recorded["readings"].as_array().unwrap().clone();
    for launch in &mut launches {
        let values = launch["metrics"].as_array().unwrap();
        assert_eq!(values.len(), names.len(), "{}", launch["name"]);
        launch["metrics"] = names.iter().map(|name| name.as_str().unwrap()).zip(values.clone()).collect();
        for (field, value) in recorded["same"].as_object().unwrap() {
            launch[field] = value.clone();
        }
    }
    launches
}

/// Whether two lanes of a copy past the cache read the same 16 bytes. Then the number of wavefronts is only a lower bound.
fn shares_a_source(launch: &Value) -> bool {
    let codes = launch["b"].as_array().unwrap().iter().filter_map(Value::as_i64);
    let reading = codes.filter(|&code| code >= 0 && code >> 24 & 1 == 0);
    let mut places: Vec<i64> = reading.map(|code| code & 0xfff).collect();
    places.sort_unstable();
    places.windows(2).any(|pair| pair[0] == pair[1])
}

#[test]
fn equal_to_the_hardware() {
    let mut differences = vec![];
    let mut compared = 0;
    let mut above = 0;
    let kernels = kernels();
    for launch in ["launches", "sharing", "copies"].into_iter().flat_map(readings) {
        let name = launch["name"].as_str().unwrap();
        if name.starts_with("copy128_bypass_p0") {
            continue; // the next test
        }
        let bound = name.starts_with("copy128_bypass") && shares_a_source(&launch);
        let counts = simulate(&kernels[launch["kernel"].as_str().unwrap()], &launch);
        for (metric, simulated, read) in compare(&counts, &launch) {
            compared += 1;
            if bound && metric.contains("shared wavefronts") && simulated < read {
                above += 1;
            } else if simulated != read {
                differences.push(format!("{name}: {metric} is {simulated}, the hardware read {read}"));
            }
        }
    }
    assert!(differences.is_empty(), "{} differences\n{}", differences.len(), differences.join("\n"));
    assert!(compared > 15_000, "{compared} comparisons");
    assert!(above < 20, "{above} wavefronts above the bound");
}

/// If the assembler keeps the condition of a copy past the cache in predicate P0, Nsight Compute takes it to be false: it counts as if
/// no lane read, without the wavefronts of the data. This is why the course's kernels copy through the cache.
#[test]
fn the_profiler_misreads_p0() {
    let mut missing = 0;
    let kernel = &kernels()["copy128_bypass_p0.ptx"];
    for launch in readings("copies").iter().filter(|launch| launch["kernel"] == "copy128_bypass_p0.ptx") {
        let all = compare(&simulate(kernel, launch), launch);
        let (_, simulated, read) = all[all.len() - 2];
        assert_eq!(read, 4, "as for a copy of zeros");
        missing += simulated - read;
    }
    assert!(missing > 0);
}

/// The comparison must be able to fail: a reading changed by one is noticed.
#[test]
fn a_wrong_reading_is_noticed() {
    for list in ["launches", "sharing", "copies"] {
        let mut launch = readings(list).swap_remove(1);
        let kernel = &kernels()[launch["kernel"].as_str().unwrap()];
        for name in ["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "memory_l1_wavefronts_shared"] {
            let read = launch["metrics"][name].as_u64().unwrap();
            launch["metrics"][name] = (read + 1).into();
            assert!(compare(&simulate(kernel, &launch), &launch).iter().any(|(_, simulated, read)| simulated != read));
            launch["metrics"][name] = read.into();
        }
    }
}
