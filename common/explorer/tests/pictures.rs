//! Hazards as pictures, orders that show a race, time as a model, and pasted PTX.

use explorer::engine::Engine;
use serde_json::{Value, json};
use std::path::Path;

fn ask(engine: &mut Engine, request: &Value) -> Value {
    serde_json::from_str(&engine.answer(&request.to_string())).unwrap()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)).unwrap()
}

/// A kernel of step 4, for `run`.
fn kernel(variant: &str) -> Value {
    let folder = if variant.starts_with('1') { "rungs" } else { "variants" };
    let file = format!("step04_tiled/{folder}/{variant}.cu");
    json!({
        "ptx": read(&format!("step04_tiled/ptx/{variant}-f32.sm75.ptx")), "source": read(&file), "file": file,
        "planner": { "step": "step04_tiled", "variant": variant },
    })
}

fn run(kernel: &Value, side: u32, order: &Value) -> (Engine, Value) {
    let mut engine = Engine::new();
    let request = json!({ "do": "run", "kernel": kernel, "m": side, "n": side, "k": side, "order": order });
    let answer = ask(&mut engine, &request);
    (engine, answer)
}

#[test]
fn a_race_is_a_picture_and_has_a_witness() {
    for (variant, after, before) in
        [("no_second_barrier", "sum +=", "[y][x] ="), ("no_first_barrier", "[y][x] =", "sum +=")]
    {
        let kernel = kernel(variant);
        let (mut engine, summary) = run(&kernel, 64, &json!("warps"));
        let hazards = summary["hazards"].as_array().unwrap();
        // A warp's lanes race for As, and go in step here; the race for Bs is the one that spoils the product.
        let pictures = (0..hazards.len()).map(|number| ask(&mut engine, &json!({ "do": "hazard", "number": number })));
        let pictures: Vec<Value> = pictures.collect();
        assert!(
            pictures.iter().all(|picture| picture["kind"] == "data race" && picture["cell"].is_object()),
            "{pictures:?}"
        );
        let number = pictures.iter().position(|picture| picture["wrong"] == true).unwrap();
        let picture = &pictures[number];
        assert!(hazards[number]["place"].as_str().unwrap().starts_with("Bs"), "{picture}");
        let [first, second] = [&picture["first"], &picture["second"]];
        assert!(first["time"].as_u64() < second["time"].as_u64() && first["warp"] != second["warp"], "{picture}");
        let source: Vec<String> = kernel["source"].as_str().unwrap().lines().map(str::to_owned).collect();
        let line = |line: &Value| source[line.as_u64().unwrap() as usize - 1].clone();
        assert!(line(&picture["barrier"]["after_line"]).contains(after), "{picture}");
        assert!(line(&picture["barrier"]["before_line"]).contains(before), "{picture}");
        // The cell held something else before, as the page can look up.
        assert_ne!(picture["old"], picture["new"], "{picture}");
        let word = picture["cell"]["word"].as_u64().unwrap() as usize;
        let writer = if second["action"] == "writes" { second } else { first };
        for (side, time) in [("old", writer["time"].as_u64().unwrap() - 1), ("new", writer["time"].as_u64().unwrap())] {
            let look = json!({ "do": "look", "time": time, "block": picture["cell"]["block"] });
            ask(&mut engine, &look);
            let held = f64::from(f32::from_bits(engine.bulk(10)[word]));
            let expected = if held.is_nan() { Value::Null } else { json!(held) };
            assert_eq!(picture[side]["value"], expected, "{side}: {picture}");
        }
        // An element that the reader's value went into, and it is wrong.
        let element = &picture["element"];
        let meaning =
            ask(&mut engine, &json!({ "do": "meaning", "time": summary["length"], "of": { "element": element } }));
        let pairs = meaning["meaning"]["pairs"].as_array().unwrap();
        let wrong = pairs.iter().any(|pair| !pair["wrong"].is_null());
        assert_eq!((picture["wrong"].as_bool(), wrong), (Some(true), true), "{picture}\n{meaning}");

        let witness = ask(&mut engine, &json!({ "do": "witness" }));
        for (name, right) in [("lucky", true), ("unlucky", false)] {
            let (_, again) = run(&kernel, 64, &witness[name]);
            if witness[name].is_null() {
                assert!(right && variant == "no_first_barrier", "{witness}");
                continue;
            }
            assert_eq!((&again["outcome"]["right"], &again["order"]), (&json!(right), &witness[name]), "{witness}");
        }
        let out_of_range = ask(&mut engine, &json!({ "do": "hazard", "number": hazards.len() }));
        assert!(out_of_range["error"].as_str().unwrap().contains("choose one of"));
    }
    let (mut engine, _) = run(&kernel("1_multiples"), 32, &json!("warps"));
    let witness = ask(&mut engine, &json!({ "do": "witness" }));
    assert_eq!((&witness["unlucky"], &witness["tried"]), (&Value::Null, &json!(38)), "{witness}");
    assert!(witness["words"].as_str().unwrap().contains("does not make a race harmless"), "{witness}");
    for order in ["cakes", "warps 7", "turns 7 upwards"] {
        let (_, answer) = run(&kernel("1_multiples"), 32, &json!(order));
        assert!(answer["error"].as_str().unwrap().contains("is not an order"), "{answer}");
    }
}

/// Pasted PTX: C[i] = alpha * A[i], for the first warp; then a barrier.
const PASTED: &str = "
.version 7.0
.target sm_75
.address_size 64
.visible .entry scaled(.param .u64 from, .param .u64 to, .param .f32 alpha, .param .u64 count, .param .u32 shift)
{
    .reg .pred %p<2>;
    .reg .f32 %f<4>;
    .reg .b32 %r<4>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [from];
    ld.param.u64 %rd2, [to];
    ld.param.f32 %f1, [alpha];
    ld.param.u64 %rd3, [count];
    ld.param.u32 %r2, [shift];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd4, %r1, 4;
    add.s64 %rd5, %rd1, %rd4;
    add.s64 %rd6, %rd2, %rd4;
    ld.global.f32 %f2, [%rd5];
    mul.f32 %f3, %f1, %f2;
    st.global.f32 [%rd6], %f3;
    bar.sync 0;
    ret;
}
";

fn pasted(args: &Value, block: &Value) -> (Engine, Value) {
    let launch = json!({ "entry": "scaled", "grid": [1, 1, 1], "block": block, "args": args });
    let kernel = json!({ "ptx": PASTED, "source": PASTED, "file": "pasted.ptx", "planner": { "launch": launch } });
    run(&kernel, 8, &json!("warps"))
}

#[test]
fn pasted_ptx_runs_with_its_launch() {
    let mut engine = Engine::new();
    let entries = ask(&mut engine, &json!({ "do": "entries", "ptx": PASTED }));
    let guess = &entries["entries"][0]["launch"];
    assert_eq!((&guess["entry"], &guess["args"]), (&json!("scaled"), &json!(["A", "B", 1, "C", "M"])), "{entries}");
    assert_eq!(entries["entries"][0]["params"][2]["type"], "f32");
    let (mut engine, summary) = pasted(&json!(["A", "C", 2.5, 64, 1]), &json!([64, 1, 1]));
    assert_eq!((&summary["outcome"]["stopped"], &summary["tile"]), (&Value::Null, &json!([64, 1])), "{summary}");
    ask(&mut engine, &json!({ "do": "look", "time": summary["length"] }));
    let value = |bits: u32| f32::from_bits(bits);
    for (&a, &c) in engine.bulk(0).iter().zip(engine.bulk(2)) {
        assert!((value(c) - 2.5 * value(a)).abs() < 1e-6, "{} {}", value(a), value(c));
    }
    // The lines are those of the PTX, and a register is what it is named.
    let of = |engine: &mut Engine, name: &str| {
        let request =
            json!({ "do": "meaning", "time": summary["length"], "warp": 1, "lane": 3, "of": { "register": name } });
        ask(engine, &request)["meaning"]["words"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(of(&mut engine, "%f2"), "A[4][3]");
    assert_eq!(of(&mut engine, "%rd6"), "an address: C[4][3]");
    assert_eq!((of(&mut engine, "%r1").as_str(), of(&mut engine, "%f1").as_str()), ("threadIdx.x", "the argument 2.5"));
    for (args, block, wanted) in [
        (json!(["A", "C", 1, 1]), json!([64, 1, 1]), "takes 5 parameters"),
        (json!(["A", "C", 1, "D", 1]), json!([64, 1, 1]), "is no argument; choose"),
        (json!(["A", "C", 1, 1, "A"]), json!([64, 1, 1]), "has 4 bytes"),
        (json!(["A", "C", 1, 1, 1]), json!([0, 1, 1]), "block"),
    ] {
        let (_, answer) = pasted(&args, &block);
        assert!(answer["error"].as_str().is_some_and(|error| error.contains(wanted)), "{answer}");
    }
    let broken = ask(&mut engine, &json!({ "do": "entries", "ptx": "int main() {}" }));
    assert!(broken["error"].as_str().unwrap().contains("not valid PTX"), "{broken}");
}

#[test]
fn strips_are_what_the_latencies_say() {
    let (mut engine, summary) = pasted(&json!(["A", "C", 2.5, 64, 1]), &json!([64, 1, 1]));
    let strips = ask(
        &mut engine,
        &json!({ "do": "strips", "global": 100, "fma": 4, "schedulers": 1, "time": summary["length"] }),
    );
    // By hand, one scheduler and two warps: warp 0 has clocks 0, 2, 4 ... while both can go on.
    // Five ld.param and mov, then mul.wide waits 4 clocks for it, the first addition 4 for that.
    let segments = |warp: usize| strips["warps"][warp]["segments"].as_array().unwrap();
    let last = segments(0).last().unwrap();
    assert_eq!((&strips["issued"], &strips["warps"][0]["issue"]), (&json!(28), &json!(14)), "{strips}");
    assert_eq!((&last[1], &last[2]), (&strips["warps"][0]["end"], &json!("issue")), "{strips}");
    let memory = [0, 1].map(|warp| strips["warps"][warp]["memory"].as_u64().unwrap());
    assert!(memory.iter().all(|&clocks| (90..=99).contains(&clocks)), "{strips}");
    for warp in 0..2 {
        let edges = segments(warp).windows(2).all(|pair| pair[0][1] == pair[1][0] && pair[0][2] != pair[1][2]);
        assert!(edges && segments(warp)[0][0] == 0, "{strips}");
    }
    assert_eq!(strips["cursor"].as_u64(), strips["clocks"].as_u64().map(|clocks| clocks - 1));
    let slower = ask(&mut engine, &json!({ "do": "strips", "global": 300, "schedulers": 1 }));
    assert_eq!(slower["clocks"].as_u64(), strips["clocks"].as_u64().map(|clocks| clocks + 200), "{slower}");
    assert!(ask(&mut engine, &json!({ "do": "strips", "schedulers": 0 }))["error"].is_string());
}

/// Step 6's reason to be: the waits for memory of the same product become shorter, from a single buffer to asynchronous copies.
#[test]
fn two_buffers_wait_less_than_one() {
    let waits = ["variants/single_buffer", "rungs/1_two_buffers", "rungs/2_async_copies"].map(|path| {
        let variant = path.split_once('/').unwrap().1;
        let form = "64x128v4small16x32";
        let ptx = read(&format!("common/explorer/ptx/step06_prefetch/{variant}-f32-{form}.sm80.ptx"));
        let file = format!("step06_prefetch/{path}.cu");
        let source = read(&file);
        let launch = json!({ "entry": "matmul", "grid": [2, 4, 1], "block": [32, 1, 1], "args": ["A", "B", "C", "M", "N", "K"], "tile": [32, 16] });
        let kernel = json!({ "ptx": ptx, "source": source, "file": file, "planner": { "launch": launch } });
        let (mut engine, summary) = run(&kernel, 64, &json!("warps"));
        assert_eq!(summary["outcome"]["right"], true, "{variant}: {}", summary["outcome"]);
        let strips = ask(&mut engine, &json!({ "do": "strips" }));
        let all = strips["warps"].as_array().unwrap();
        assert!(all.iter().all(|warp| warp["segments"].as_array().unwrap().len() <= 400));
        let sum: u64 = all.iter().map(|warp| warp["memory"].as_u64().unwrap()).sum();
        (variant, sum, strips["clocks"].as_u64().unwrap())
    });
    println!("{waits:?}");
    assert!(waits.is_sorted_by(|one, other| one.1 > other.1 && one.2 > other.2), "{waits:?}");
}
