//! Runs of the course's kernels, as the page asks for them.

use explorer::engine::Engine;
use explorer::planner::Planner;
use explorer::request::{Kernel, Order, RunRequest};
use explorer::run::{C, Run};
use plan::{Dtype, Fill};
use serde_json::{Value, json};
use std::path::Path;

/// A kernel of step 4.
fn kernel(name: &str) -> Kernel {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../step04_tiled");
    let file = if name == "kernel" { "kernel.cu".to_owned() } else { format!("variants/{name}.cu") };
    let read = |path: &str| std::fs::read_to_string(folder.join(path)).unwrap();
    let variant = (name != "kernel").then(|| name.to_owned());
    Kernel {
        ptx: read(&format!("ptx/{name}-f32.sm75.ptx")),
        source: read(&file),
        file: format!("step04_tiled/{file}"),
        planner: Planner { step: Some("step04_tiled".into()), variant, ..Planner::default() },
    }
}

fn request(name: &str, [m, n, k]: [u32; 3], order: Order) -> RunRequest {
    RunRequest { kernel: kernel(name), m, n, k, order, ..RunRequest::default() }
}

fn run(name: &str, size: [u32; 3], order: Order) -> Run {
    Run::new(&request(name, size, order)).unwrap()
}

/// An engine that has run a kernel, and what it said.
fn engine(name: &str, [m, n, k]: [u32; 3], order: &str) -> (Engine, Value) {
    let mut engine = Engine::new();
    let Kernel { ptx, source, file, planner } = kernel(name);
    let kernel = json!({ "ptx": ptx, "source": source, "file": file, "planner": planner });
    let request = json!({ "do": "run", "kernel": kernel, "m": m, "n": n, "k": k, "order": order });
    let answer = ask(&mut engine, &request);
    (engine, answer)
}

fn ask(engine: &mut Engine, request: &Value) -> Value {
    serde_json::from_str(&engine.answer(&request.to_string())).unwrap()
}

#[test]
fn a_run_of_64_fits_its_memory_and_is_right() {
    let run = run("kernel", [64; 3], Order::WARPS);
    let c = run.tape.end.arrays[C].to_vec();
    assert_eq!((run.wrong(&c).count(), &run.stopped), (0, &None));
    assert_eq!(run.totals().fma_threads, 64 * 64 * 64);
    assert!(run.tape.memory() < 25 << 20, "{}", run.tape.memory());
}

#[test]
fn a_state_is_the_same_from_wherever_it_is_reached() {
    // Warps that wait at a barrier in some state that was kept.
    let mut waiting = 0;
    for order in [Order::WARPS, Order::TURNS, Order::BLOCKS] {
        let run = run("kernel", [40, 64, 40], order);
        let length = run.tape.length();
        let times: Vec<u32> = (0..=12).map(|part| (u64::from(length) * part / 12) as u32).collect();
        let mut forwards = run.tape.start();
        let states: Vec<_> = times
            .iter()
            .map(|&time| {
                run.tape.seek(&mut forwards, time);
                forwards.clone()
            })
            .collect();
        assert!(states[12] == run.tape.end, "{order:?}: the end is what the recorder saw");
        // What was kept while the run was recorded is what the log gives from its start.
        let mut replayed = run.tape.start();
        assert!(run.tape.kept().len() > 1, "{}", run.tape.kept().len());
        for kept in run.tape.kept() {
            while replayed.time < kept.time {
                replayed.apply(&run.tape.log, replayed.time);
            }
            assert!(replayed == *kept, "{order:?}: time {} of {length}", kept.time);
            waiting +=
                kept.blocks.values().flat_map(|block| &block.warps).filter(|warp| warp.barrier.is_some()).count();
        }
        // Back again, and to and fro.
        let mut other = run.tape.start();
        for step in [12, 5, 11, 0, 7, 3, 9, 1, 10, 2, 8, 4, 6] {
            run.tape.seek(&mut other, times[step]);
            assert!(other == states[step], "{order:?}: time {} of {length}", times[step]);
        }
    }
    assert!(waiting > 0);
}

#[test]
fn totals_and_products_do_not_depend_on_the_order() {
    let totals = [Order::WARPS, Order::TURNS, Order::BLOCKS].map(|order| {
        let run = run("kernel", [33, 64, 40], order);
        let c = run.tape.end.arrays[C].to_vec();
        assert_eq!(run.wrong(&c).count(), 0, "{order:?}");
        *run.totals()
    });
    assert!(totals.iter().all(|other| *other == totals[0]), "{totals:?}");
}

#[test]
fn warps_take_turns_if_they_are_asked_to() {
    let changes = |order| {
        let run = run("kernel", [64; 3], order);
        let of = |event: &explorer::log::Event| (event.block(), event.warp());
        let warps = run.tape.events.windows(2).filter(|pair| of(&pair[0]) != of(&pair[1])).count();
        let blocks = run.tape.events.windows(2).filter(|pair| pair[0].block() != pair[1].block()).count();
        (warps * 100 / run.tape.events.len(), blocks)
    };
    let (in_order, by_turns, side_by_side) = (changes(Order::WARPS), changes(Order::TURNS), changes(Order::BLOCKS));
    assert!(in_order.0 < 5 && in_order.1 == 3, "{in_order:?}");
    assert!(by_turns.0 > 80 && by_turns.1 == 3, "{by_turns:?}");
    assert!(side_by_side.0 > 80 && side_by_side.1 > 100, "{side_by_side:?}");
}

#[test]
fn a_race_is_found_at_its_second_access() {
    for name in ["no_first_barrier", "no_second_barrier"] {
        let run = run(name, [64; 3], Order::WARPS);
        let race = run.hazards.iter().find(|found| found.hazard.kind.name() == "data race").unwrap();
        let [first, second] = &race.hazard.parties[..] else { panic!("{race:?}") };
        let thread = |party: &simt::Party| party.thread.x + 32 * party.thread.y;
        let event = run.tape.events[race.time as usize - 1];
        let block = second.block.x + 2 * second.block.y;
        assert_eq!((event.block(), event.warp()), (block, thread(second) / 32), "{name}");
        assert!(event.lanes >> (thread(second) % 32) & 1 != 0);
        let location = run.tape.launches[0].program.kernel.location(event.instruction);
        assert_eq!(location.line, second.location.line, "{name}");
        // The first access is earlier, and the place is the one that the second one touches.
        let access = run.tape.access(race.time - 1).unwrap();
        let position = access.addresses[(thread(second) % 32) as usize];
        let touched = run.tape.events[..race.time as usize - 1].iter().zip(0..).any(|(event, number)| {
            let lane = thread(first) % 32;
            (event.block(), event.warp()) == (block, thread(first) / 32)
                && run.tape.access(number).is_some_and(|access| {
                    access.space == simt::Space::Shared
                        && access.lanes >> lane & 1 != 0
                        && access.addresses[lane as usize] == position
                })
        });
        assert!(touched, "{name}: {:?}", race.hazard);
        let c = run.tape.end.arrays[C].to_vec();
        assert!(run.wrong(&c).next().is_some(), "{name}: the wrong element can be watched");
    }
}

#[test]
fn counts_at_every_time_add_up_to_those_by_line() {
    let (mut engine, summary) = engine("bank_conflicts", [32, 40, 32], "turns");
    let length = summary["length"].as_u64().unwrap();
    for time in [0, 1, length / 3, length / 2, length] {
        let frame = ask(&mut engine, &json!({ "do": "look", "time": time }));
        for name in ["instructions", "shared_store_bank_conflicts", "global_load_sectors", "barriers"] {
            let lines = frame["by_line"].as_object().unwrap().values();
            let sum: u64 = lines.map(|line| line[name].as_u64().unwrap_or(0)).sum();
            assert_eq!(frame["totals"][name].as_u64(), Some(sum), "{name} at {time}");
        }
        assert_eq!(frame["totals"]["instructions"], time);
    }
    let end = ask(&mut engine, &json!({ "do": "look", "time": length }));
    assert_eq!(end["totals"], summary["totals"]);
}

#[test]
fn requests_show_what_is_counted() {
    let (mut engine, summary) = engine("bank_conflicts", [64; 3], "warps");
    let length = summary["length"].as_u64().unwrap();
    let mut seen = [0; 3];
    let mut time = 0;
    for _ in 0..300 {
        let seek = json!({ "do": "seek", "from": time, "to": "access", "block": 1, "warp": 2 });
        let Some(next) = ask(&mut engine, &seek)["time"].as_u64() else { break };
        assert!(next > time && next <= length);
        time = next;
        let frame = ask(&mut engine, &json!({ "do": "look", "time": time, "block": 1, "warp": 2 }));
        let request = &frame["request"];
        assert_eq!(request["now"], true);
        let count = |name: &str| request["counts"][name].as_u64().unwrap_or(0);
        let sectors = count("global_load_sectors") + count("global_store_sectors");
        assert_eq!(request["sectors"].as_array().unwrap().len() as u64, sectors);
        let wavefronts = count("shared_load_wavefronts") + count("shared_store_wavefronts");
        assert_eq!(request["wavefronts"].as_array().unwrap().len() as u64, wavefronts, "{request}");
        seen[0] += u32::from(sectors > 0);
        seen[1] += u32::from(wavefronts > 0);
        seen[2] += u32::from(wavefronts == 32);
    }
    assert!(seen.iter().all(|&count| count > 0), "{seen:?}");
}

#[test]
fn a_sum_of_a_thread_is_followed_from_its_start_to_c() {
    let (mut engine, summary) = engine("kernel", [64; 3], "warps");
    let look = |engine: &mut Engine, time: u64| {
        ask(engine, &json!({ "do": "look", "time": time, "block": 3, "warp": 4, "lane": 5 }))
    };
    let length = summary["length"].as_u64().unwrap();
    let end = look(&mut engine, length);
    let [sum] = &end["sums"].as_array().unwrap()[..] else { panic!("{}", end["sums"]) };
    assert_eq!((&sum["row"], &sum["column"], &sum["value"]), (&json!(36), &json!(37), &sum["expected"]));
    let at = engine.bulk(2)[36 * 64 + 37];
    assert_eq!(json!(f64::from(f32::from_bits(at))), sum["expected"]);
    let values: std::collections::BTreeSet<String> =
        (0..=40).map(|part| look(&mut engine, length * part / 40)["sums"][0]["value"].to_string()).collect();
    assert!(values.len() > 3, "it fills up: {values:?}");
}

#[test]
fn places_are_found_forwards_and_backwards() {
    let (mut engine, summary) = engine("no_second_barrier", [64; 3], "warps");
    let mut seek = |from: u64, back: bool, to: &str, more: Value| {
        let mut request = json!({ "do": "seek", "from": from, "back": back, "to": to, "block": 0, "warp": 1 });
        for (name, value) in more.as_object().into_iter().flatten() {
            request[name] = value.clone();
        }
        ask(&mut engine, &request)["time"].as_u64()
    };
    let none = || json!({});
    for to in ["instruction", "line", "barrier", "hazard", "access"] {
        let first = seek(0, false, to, none()).unwrap_or_else(|| panic!("{to}"));
        if let Some(second) = seek(first, false, to, none()) {
            assert!(second > first, "{to}");
            assert_eq!(seek(second, true, to, none()), Some(first), "{to}");
        }
    }
    let half = seek(0, false, "work", json!({ "share": 0.5 })).unwrap();
    let length = summary["length"].as_u64().unwrap();
    assert!(half > length / 4 && half < length * 3 / 4);
    assert_eq!(seek(0, false, "work", json!({ "share": 1.0 })), Some(length));
    assert_eq!(seek(0, false, "access", json!({ "array": "nothing" })), None);
    let store = seek(0, false, "access", json!({ "array": "C" })).unwrap();
    assert!(store > half / 4);
}

#[test]
fn questions_are_answered_by_counting() {
    let sectors = |name: &str| {
        let (mut engine, _) = engine(name, [64; 3], "warps");
        let question = json!({
            "do": "question", "metric": "global_load_sectors", "per": "global_load_requests", "array": "B",
        });
        let answer = ask(&mut engine, &question);
        assert!(answer["time"].as_u64().unwrap() > 0 && answer["line"].as_u64().unwrap() > 0);
        answer["value"].as_f64().unwrap()
    };
    assert!(sectors("kernel") < sectors("uncoalesced_b"));
    let (mut engine, _) = engine("kernel", [64; 3], "warps");
    let blocks = ask(&mut engine, &json!({ "do": "question", "metric": "blocks" }));
    assert_eq!(blocks["value"], 4);
    let none = ask(&mut engine, &json!({ "do": "question", "metric": "cakes" }));
    assert!(none["error"].as_str().unwrap().contains("\"cakes\""));
}

#[test]
fn bad_requests_are_answered_by_a_sentence() {
    let mut engine = Engine::new();
    let error = |engine: &mut Engine, request: &str| {
        let answer: Value = serde_json::from_str(&engine.answer(request)).unwrap();
        answer["error"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    assert!(error(&mut engine, "").contains("not a request"));
    assert!(error(&mut engine, "{\"do\": \"dance\"}").contains("not a request"));
    assert!(error(&mut engine, "{\"do\": \"look\", \"time\": 3}").contains("run a kernel first"));
    let run = |change: &dyn Fn(&mut RunRequest)| {
        let mut request = request("kernel", [16; 3], Order::WARPS);
        change(&mut request);
        Run::new(&request).map(|run| run.stopped)
    };
    assert!(run(&|request| request.kernel.ptx = "not PTX".into()).unwrap_err().contains("not valid PTX"));
    assert!(run(&|request| request.kernel.ptx.clear()).is_err());
    assert!(run(&|request| request.m = 65).unwrap_err().contains("from 1 to 64"));
    assert!(run(&|request| request.kernel.planner = Planner::default()).unwrap_err().contains("no step plans"));
    let unknown = |request: &mut RunRequest| request.kernel.ptx = request.kernel.ptx.replace("bar.sync", "bar.dance");
    assert!(run(&unknown).is_err());
    let endless = |request: &mut RunRequest| request.limit = Some(1000);
    assert!(run(&endless).unwrap().unwrap().contains("does a loop never end?"));
}

#[test]
fn a_look_past_the_end_and_at_what_is_not_there_is_the_last_there_is() {
    let (mut engine, summary) = engine("kernel", [40, 40, 8], "warps");
    let look = json!({ "do": "look", "time": 4_000_000_000_u32, "block": 99, "warp": 99, "lane": 99 });
    let frame = ask(&mut engine, &look);
    assert_eq!((&frame["time"], &frame["block"], &frame["warp"]), (&summary["length"], &json!(3), &json!(31)));
}

#[test]
fn blocks_begin_and_end_with_their_events() {
    let (mut engine, summary) = engine("kernel", [64, 64, 32], "warps");
    let length = summary["length"].as_u64().unwrap();
    let mut blocks = |time: u64| ask(&mut engine, &json!({ "do": "look", "time": time }))["blocks"].clone();
    assert_eq!(blocks(0), json!([0, 0, 0, 0]));
    assert_eq!(blocks(1), json!([1, 0, 0, 0]));
    assert_eq!(blocks(length / 4), json!([2, 0, 0, 0]));
    assert_eq!(blocks(length - 1), json!([2, 2, 2, 1]));
    assert_eq!(blocks(length), json!([2, 2, 2, 2]));
}

#[test]
fn integers_and_whole_numbers_are_exact_too() {
    let request = RunRequest { fill: Fill::Integers, ..request("kernel", [33, 20, 64], Order::TURNS) };
    let run = Run::new(&request).unwrap();
    let c = run.tape.end.arrays[C].to_vec();
    assert_eq!((run.wrong(&c).count(), run.dtype), (0, Dtype::F32));
}

/// The kernel on tensor cores, for one tile. Its sums are held as the PTX manual draws them, and both operands lie in shared memory.
#[test]
fn a_product_of_four_warps_is_shown_with_its_fragments() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../step06_prefetch");
    let read = |path: &str| std::fs::read_to_string(folder.join(path)).unwrap();
    let kernel = json!({
        "ptx": read("beyond/ptx/tensor_cores-f32-64p16v1.sm90a.ptx"), "source": read("beyond/tensor_cores.cu"),
        "file": "step06_prefetch/beyond/tensor_cores.cu", "planner": { "step": "step06_prefetch", "variant": "tensor_cores" },
    });
    let mut engine = Engine::new();
    let facts = ask(&mut engine, &json!({ "do": "run", "kernel": kernel, "m": 64, "n": 64, "k": 64 }));
    assert_eq!((&facts["outcome"]["right"], &facts["hazards"]), (&json!(true), &json!([])), "{facts}");
    let launches = facts["launches"].as_array().unwrap();
    let entries: Vec<&str> = launches.iter().map(|launch| launch["entry"].as_str().unwrap()).collect();
    assert_eq!((entries, facts["products"].as_object().unwrap().len()), (vec!["split", "matmul", "again"], 12));

    let at = |engine: &mut Engine, time: &Value| {
        ask(engine, &json!({ "do": "look", "time": time, "block": 0, "warp": 2, "lane": 0 }))
    };
    // At the end of a launch the next one begins.
    let look = at(&mut engine, &json!(launches[1]["to"].as_u64().unwrap() - 1));
    let product = &look["product"];
    let shape = &facts["products"][product["instruction"].to_string()];
    assert_eq!((&shape["columns"], &shape["length"], &shape["left"]), (&json!(128), &json!(16), &json!([])), "{look}");
    for lane in 0..32_usize {
        for register in 0..64 {
            let [row, column] = [lane / 4 + register / 2 % 2 * 8, lane % 4 * 2 + register / 4 * 8 + register % 2];
            assert_eq!(shape["sums"][register][lane], json!([row, column]));
        }
    }
    let sums = product["sums"].as_array().unwrap();
    assert!(sums.len() == 64 && sums.iter().all(|sum| sum["values"].as_array().unwrap().len() == 32));
    assert!(!product["pieces"].as_array().unwrap().is_empty(), "{product}");
    assert_eq!(at(&mut engine, &json!(0))["product"], Value::Null);
}

/// What the engine says something means.
fn meaning(engine: &mut Engine, time: &Value, [block, warp, lane]: [u32; 3], of: &Value) -> Value {
    let request = json!({ "do": "meaning", "time": time, "block": block, "warp": warp, "lane": lane, "of": of });
    ask(engine, &request)
}

#[test]
fn registers_say_what_they_hold() {
    let (mut engine, summary) = engine("kernel", [40, 64, 40], "warps");
    let seek = json!({ "do": "seek", "from": 0, "to": "barrier", "block": 3 });
    let opened = ask(&mut engine, &seek)["time"].clone();
    let length = summary["length"].clone();
    let registers = |engine: &mut Engine, time: &Value, at: [u32; 3]| {
        let answer = meaning(engine, time, at, &json!("registers"));
        let all = answer["registers"].as_object().unwrap_or_else(|| panic!("{answer}")).clone();
        all.values().map(|meaning| meaning["words"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let has = |all: &[String], wanted: &str| assert!(all.iter().any(|words| words == wanted), "{wanted}: {all:?}");
    // Block (1, 1), row 33, column 37. The tile of A begins at its row 32.
    let early = registers(&mut engine, &opened, [3, 1, 5]);
    for wanted in ["A[33][5]", "B[1][37]", "threadIdx.x", "blockIdx.y", "the argument K"] {
        has(&early, wanted);
    }
    let late = registers(&mut engine, &length, [3, 1, 5]);
    has(&late, "40 of 40 products of C[33][37]");
    has(&late, "an address: C[33][37]");
    // Half way, in a loop that is unrolled: some of them, and not more than there were before.
    let mut counts = vec![];
    for part in 0..=30 {
        let time = json!(length.as_u64().unwrap() * part / 30);
        let all = meaning(&mut engine, &time, [3, 1, 5], &json!("registers"));
        let sums = all["registers"].as_object().unwrap().values();
        let most =
            sums.filter(|meaning| meaning["element"] == json!([33, 37])).map(|sum| sum["products"].as_u64().unwrap());
        counts.push(most.max().unwrap_or(0));
    }
    assert!(counts.is_sorted() && counts.contains(&0) && counts.contains(&40), "{counts:?}");
}

#[test]
fn a_word_of_shared_memory_says_who_stored_it_and_who_has_read_it() {
    let (mut engine, _) = engine("kernel", [64; 3], "warps");
    let mut times = vec![];
    for _ in 0..3 {
        let from = times.last().cloned().unwrap_or(json!(0));
        times.push(
            ask(&mut engine, &json!({ "do": "seek", "from": from, "to": "barrier", "block": 1 }))["time"].clone(),
        );
    }
    // As[1][4] of block (1, 0): of A row 1.
    let word = json!({ "shared": 36 });
    let before = meaning(&mut engine, &json!(0), [1, 0, 0], &word);
    assert_eq!((&before["meaning"]["kind"], &before["stored"]), (&json!("unset"), &Value::Null), "{before}");
    let stored = meaning(&mut engine, &times[0], [1, 0, 0], &word);
    assert_eq!((&stored["name"], &stored["meaning"]["words"]), (&json!("As[1][4]"), &json!("A[1][4]")), "{stored}");
    let source: Vec<String> = kernel("kernel").source.lines().map(str::to_owned).collect();
    let line = |act: &Value| source[act["line"].as_u64().unwrap() as usize - 1].trim().to_owned();
    assert!(line(&stored["stored"]).starts_with("As[y][x] ="), "{stored}");
    assert_eq!(
        (&stored["stored"]["warp"], &stored["stored"]["lane"], &stored["read"]),
        (&json!(1), &json!(4), &json!([]))
    );
    let read = meaning(&mut engine, &times[1], [1, 0, 0], &word);
    let reads = read["read"].as_array().unwrap();
    assert!(!reads.is_empty() && reads.iter().all(|act| act["warp"] == 1 && line(act).starts_with("sum +=")), "{read}");
    let next = meaning(&mut engine, &times[2], [1, 0, 0], &word);
    assert_eq!(next["meaning"]["words"], "A[1][36]", "{next}");
}

#[test]
fn an_element_of_c_lists_its_pairs_in_order_and_marks_the_wrong_ones() {
    let (mut right, summary) = engine("kernel", [40, 64, 40], "warps");
    let length = &summary["length"];
    let all = meaning(&mut right, length, [0; 3], &json!({ "element": [33, 37] }));
    let pairs: Vec<&str> =
        all["meaning"]["pairs"].as_array().unwrap().iter().map(|pair| pair["words"].as_str().unwrap()).collect();
    let expected: Vec<String> = (0..40).map(|k| format!("A[33][{k}] · B[{k}][37]")).collect();
    assert_eq!(pairs, expected);
    assert_eq!((&all["meaning"]["wrong"], &all["meaning"]["missing"]), (&json!(0), &json!([])));
    // Two warps' tiles are overwritten by others that are ahead.
    let (mut wrong, summary) = engine("no_second_barrier", [64; 3], "warps");
    let first = &summary["outcome"]["first"];
    let element = json!({ "element": [first["row"], first["column"]] });
    let all = meaning(&mut wrong, &summary["length"], [0; 3], &element);
    let pairs = all["meaning"]["pairs"].as_array().unwrap();
    let marked: Vec<&Value> = pairs.iter().filter(|pair| !pair["wrong"].is_null()).collect();
    assert!(!marked.is_empty() && marked.len() < 64 && all["meaning"]["wrong"] == marked.len(), "{all}");
    assert!(
        marked
            .iter()
            .all(|pair| pair["wrong"].as_str().unwrap().contains("another k") && pair["line"] == pairs[0]["line"])
    );
}

#[test]
fn a_step_says_what_a_warp_did_in_a_line() {
    let (mut engine, _) = engine("kernel", [64; 3], "warps");
    let seek = |engine: &mut Engine, from: &Value, back: bool, to: &str| {
        ask(engine, &json!({ "do": "seek", "from": from, "back": back, "to": to, "block": 1, "warp": 1 }))["time"]
            .clone()
    };
    let step =
        |engine: &mut Engine, time: &Value| ask(engine, &json!({ "do": "step", "time": time, "block": 1, "warp": 1 }));
    assert_eq!(step(&mut engine, &json!(0))["line"], Value::Null);
    let mut time = json!(0);
    let mut told = vec![];
    let mut times = vec![];
    for _ in 0..12 {
        time = seek(&mut engine, &time, false, "step");
        times.push(time.clone());
        let step = step(&mut engine, &time);
        assert_eq!((&step["to"], &step["complete"], &step["warp"]), (&time, &json!(true), &json!(1)), "{step}");
        told.push(step["words"].as_str().unwrap_or_else(|| panic!("{step}")).to_owned());
    }
    // Backwards through the same places.
    for pair in times.windows(2).rev() {
        assert_eq!(seek(&mut engine, &pair[1], true, "step"), pair[0]);
    }
    let expected = [
        "loads A[1][0..31] into As[1][0..31]",
        "loads B[1][32..63] into Bs[1][0..31]",
        "arrives at the barrier",
        "reads A[1][0..31] and B[0..31][32..63] from As[1][0..31] and Bs[0..31][0..31]; \
         multiplies A[1][0..31] by B[0..31][32..63] and adds to C[1][32..63]",
        "arrives at the barrier",
        "loads A[1][32..63] into As[1][0..31]",
        "loads B[33][32..63] into Bs[1][0..31]",
        "arrives at the barrier",
        "reads A[1][32..63] and B[32..63][32..63] from As[1][0..31] and Bs[0..31][0..31]; \
         multiplies A[1][32..63] by B[32..63][32..63] and adds to C[1][32..63]",
        "arrives at the barrier",
        "stores C[1][32..63], each the sum of 64 products",
        "ends",
    ];
    assert_eq!(told, expected.map(|words| format!("warp 1 {words}")));
    // Where a page begins: any warp of the block.
    let first = ask(&mut engine, &json!({ "do": "seek", "from": 0, "to": "first", "block": 3 }));
    let step = ask(&mut engine, &json!({ "do": "step", "time": first["time"], "block": 3, "warp": first["warp"] }));
    assert_eq!(step["parts"][0]["verb"], "load", "{step}");
    assert_eq!(step["parts"][0]["from"][0]["array"], "A", "{step}");
}
