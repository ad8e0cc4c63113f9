//! Runs of kernels and requests about them; `cases.txt` has the expected answers.

#[path = "../../simt/tests/sections/packed.rs"]
mod packed;

use explorer::engine::Engine;
use explorer::instructions::operands;
use explorer::matrices::{elements, equal};
use explorer::names::{Elements, blocks, named};
use explorer::request::RunRequest;
use explorer::run::Run;
use plan::{Dtype, Fill};
use serde_json::{Value, json};
use simt::Counts;
use std::collections::BTreeMap;
use std::path::Path;

/// The text of a file of the workspace; a name that is not a file is returned as it is.
fn read(path: &str) -> String {
    packed::text(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)).unwrap_or_else(|_| path.to_owned())
}

/// A request to run a kernel: of step 4 by its name, or as JSON that names files.
fn request(kernel: &str, size: &str, order: &str, more: &str) -> Value {
    let mut kernel: Value = serde_json::from_str(kernel).unwrap_or_else(|_| {
        let file = match kernel {
            "kernel" => "step04_tiled/kernel.cu".to_owned(),
            rung if rung.starts_with('1') => format!("step04_tiled/rungs/{rung}.cu"),
            variant => format!("step04_tiled/variants/{variant}.cu"),
        };
        let variant = Some(kernel).filter(|variant| *variant != "kernel");
        json!({
            "ptx": format!("step04_tiled/ptx/{kernel}-f32.sm75.ptx"), "source": file, "file": file,
            "planner": { "step": "step04_tiled", "variant": variant },
        })
    });
    for part in ["ptx", "source"] {
        kernel[part] = read(kernel[part].as_str().unwrap()).into();
    }
    let [m, n, k] = size.split('x').map(|side| side.parse::<u32>().unwrap()).collect::<Vec<_>>()[..] else {
        panic!("{size}")
    };
    let request = json!({ "do": "run", "kernel": kernel, "m": m, "n": n, "k": k, "order": order });
    explorer::answer::with(request, serde_json::from_str(more).unwrap_or_default())
}

fn run(kernel: &str, size: &str, order: &str) -> Run {
    Run::new(&serde_json::from_value::<RunRequest>(request(kernel, size, order, "")).unwrap()).unwrap()
}

fn ask(engine: &mut Engine, request: &Value) -> Value {
    serde_json::from_str(&engine.answer(&request.to_string())).unwrap()
}

/// A case on its way.
#[derive(Default)]
struct Walk {
    engine: Engine,
    source: Vec<String>,
    answer: Value,
    known: BTreeMap<String, Value>,
}

impl Walk {
    /// Replaces `$length` and other known names by their values.
    fn filled(&self, line: &str) -> String {
        // A name that begins like another one first.
        let known = self.known.iter().rev();
        known.fold(line.to_owned(), |line, (name, value)| line.replace(&format!("${name}"), &value.to_string()))
    }

    /// Checks a line about the latest answer: `/place == JSON`, `!=`, `> NUMBER`, `~ TEXT in it`, `@ TEXT in that line of the source`, or
    /// `name = /place`, perhaps with a number that is taken off.
    fn check(&mut self, line: &str) {
        let line = self.filled(line);
        let [left, how, right] = line.splitn(3, ' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let at = |place: &str| self.answer.pointer(place).cloned().unwrap_or_default();
        let found = at(left);
        let json = || serde_json::from_str::<Value>(right).unwrap_or_else(|_| panic!("no JSON: {right}"));
        let holds = match how {
            "==" => found == json(),
            "!=" => found != json(),
            ">" => found.as_f64() > json().as_f64(),
            "~" => found.as_str().map_or_else(|| found.to_string(), str::to_owned).contains(right),
            "@" => self.source[found.as_u64().unwrap() as usize - 1].contains(right),
            "=" => {
                let (place, less) = right.split_once(" - ").unwrap_or((right, "0"));
                let (value, less) = (at(place), less.parse::<u64>().unwrap());
                let less = value.as_u64().filter(|_| less > 0).map(|value| json!(value - less));
                self.known.insert(left.into(), less.unwrap_or(value));
                true
            }
            _ => panic!("{line}"),
        };
        assert!(holds, "{line}\nfound {found}\nin {}", self.answer);
    }

    /// The sentences of a warp, step after step, and back through the same places.
    fn steps(&mut self, [block, warp]: [u32; 2], words: &[&str]) {
        let mut times = vec![json!(0)];
        let seek = |engine: &mut Engine, from: &Value, back: bool| {
            let seek = json!({ "do": "seek", "from": from, "back": back, "to": "step", "block": block, "warp": warp });
            ask(engine, &seek)["time"].clone()
        };
        for words in words {
            times.push(seek(&mut self.engine, &times[times.len() - 1], false));
            let look = json!({ "do": "look", "time": times[times.len() - 1], "block": block, "warp": warp });
            let step = &ask(&mut self.engine, &look)["step"];
            assert_eq!(step["words"], json!(words), "{step}");
        }
        for pair in times[1..].windows(2).rev() {
            assert_eq!(seek(&mut self.engine, &pair[1], true), pair[0]);
        }
    }

    fn statement(&mut self, line: &str, below: &[&str]) {
        let line = self.filled(line);
        let (verb, rest) = line.split_once(' ').unwrap();
        match verb {
            "run" => {
                let [kernel, size, order, more @ ..] = &rest.split(" | ").collect::<Vec<_>>()[..] else {
                    panic!("{line}")
                };
                let order = order.trim_matches('"');
                let request = request(kernel, size, order, more.first().unwrap_or(&""));
                let source = request["kernel"]["source"].as_str().unwrap_or_default();
                self.source = source.lines().map(str::to_owned).collect();
                self.answer = ask(&mut self.engine, &request);
            }
            "ask" => {
                let text = ["pasted", "tally"].into_iter().fold(rest.to_owned(), |text, name| {
                    let ptx = json!(read(&format!("common/explorer/tests/{name}.ptx"))).to_string();
                    text.replace(&format!("\"{}\"", name.to_uppercase()), &ptx)
                });
                self.answer = serde_json::from_str(&self.engine.answer(&text)).unwrap();
            }
            "steps" => return self.steps(serde_json::from_str(rest).unwrap(), below),
            _ => panic!("{line}"),
        }
        for line in below {
            self.check(line);
        }
    }
}

#[test]
fn every_case_is_answered_as_it_says() {
    let cases = include_str!("cases.txt");
    for case in cases.split("\n\n") {
        let mut walk = Walk::default();
        let lines: Vec<&str> = case.lines().filter(|line| !line.starts_with('#')).collect();
        for group in lines.chunk_by(|_, next| next.starts_with(' ')) {
            println!("{}", group[0]);
            walk.statement(group[0], &group[1..].iter().map(|line| line.trim()).collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_state_is_the_same_from_wherever_it_is_reached() {
    // Warps that wait at a barrier in some state.
    let mut waiting = 0;
    for order in ["warps", "turns", "blocks"] {
        let run = run("kernel", "40x64x40", order);
        let length = run.tape.length();
        let times: Vec<u32> = (0..=12).map(|part| (u64::from(length) * part / 12) as u32).collect();
        let mut forwards = run.tape.start();
        let mut at = |&time: &u32| {
            run.tape.seek(&mut forwards, time);
            forwards.clone()
        };
        let states: Vec<_> = times.iter().map(&mut at).collect();
        assert!(states[12] == run.tape.end, "{order}: the end is what all events lead to");
        let warps = states.iter().flat_map(|state| state.blocks.values()).flat_map(|block| &block.warps);
        waiting += warps.filter(|warp| warp.at_barrier).count();
        // Back again, and to and fro.
        let mut other = run.tape.start();
        for step in [12, 5, 11, 0, 7, 3, 9, 1, 10, 2, 8, 4, 6] {
            run.tape.seek(&mut other, times[step]);
            assert!(other == states[step], "{order}: time {} of {length}", times[step]);
        }
    }
    assert!(waiting > 0);
}

#[test]
fn the_order_changes_who_is_next_and_neither_totals_nor_product() {
    let changes = ["warps", "turns", "blocks"].map(|order| {
        let run = run("kernel", "64x64x64", order);
        assert!(run.is_right() && run.tape.end.totals.fma_threads == 64 * 64 * 64, "{order}");
        assert!(run.tape.memory() < 30 << 20, "{}", run.tape.memory());
        let pairs = run.tape.events.windows(2);
        let warps = pairs.clone().filter(|pair| pair[0].place() != pair[1].place()).count();
        let blocks = pairs.filter(|pair| pair[0].block != pair[1].block).count();
        (warps * 100 / run.tape.events.len(), blocks, run.tape.end.totals)
    });
    let [in_order, by_turns, side_by_side] = changes;
    assert!(in_order.0 < 5 && in_order.1 == 3, "{in_order:?}");
    assert!(by_turns.0 > 80 && by_turns.1 == 3, "{by_turns:?}");
    assert!(side_by_side.0 > 80 && side_by_side.1 > 100, "{side_by_side:?}");
    assert!(by_turns.2 == in_order.2 && side_by_side.2 == in_order.2);
}

/// The counts of a look's events add up to its totals, by line too, and a request shows what is counted of it.
#[test]
fn what_is_shown_is_what_is_counted() {
    let mut engine = Engine::default();
    let summary = ask(&mut engine, &request("bank_conflicts", "32x40x32", "turns", ""));
    let length = summary["length"].as_u64().unwrap();
    for time in [0, 1, length / 3, length / 2, length] {
        let frame = ask(&mut engine, &json!({ "do": "look", "time": time }));
        for (name, _) in Counts::default().entries() {
            let lines = frame["by_line"].as_object().unwrap().values();
            let sum: u64 = lines.map(|line| line[name].as_u64().unwrap_or(0)).sum();
            assert_eq!(frame["totals"][name].as_u64(), Some(sum), "{name} at {time}");
        }
        assert_eq!(frame["totals"]["instructions"], time);
        assert!(time != length || frame["totals"] == summary["totals"]);
    }
    let (mut seen, mut time) = ([0; 3], 0);
    while let Some(next) =
        ask(&mut engine, &json!({ "do": "seek", "from": time, "to": "access", "block": 1, "warp": 2 }))["time"].as_u64()
    {
        assert!(next > time && next <= length);
        time = next;
        let look = json!({ "do": "look", "time": time, "block": 1, "warp": 2 });
        let request = ask(&mut engine, &look)["request"].clone();
        let counts = &engine.run.as_ref().unwrap().tape.event(time as u32 - 1).counts;
        let sectors = counts.global_load_sectors + counts.global_store_sectors;
        let wavefronts = counts.shared_load_wavefronts + counts.shared_store_wavefronts;
        let shown = ["sectors", "wavefronts"].map(|name| request[name].as_array().unwrap().len() as u64);
        assert_eq!((shown, &request["now"]), ([sectors, wavefronts], &json!(true)), "{request}");
        for (seen, is) in seen.iter_mut().zip([sectors > 0, wavefronts > 0, wavefronts == 32]) {
            *seen += u32::from(is);
        }
    }
    assert!(seen.iter().all(|&count| count > 0), "{seen:?}");
}

#[test]
fn sums_are_exact_in_single_precision_and_no_element_is_zero() {
    for fill in [Fill::Uniform, Fill::Integers] {
        let a = elements(1, 4096, Dtype::F32, fill);
        // Quarters times quarters: a sum of sixteenths, and all of them fit 24 bits.
        assert!(a.iter().all(|&bits| (f32::from_bits(bits) * 4.0).fract() == 0.0 && bits << 1 != 0));
        assert!(a.iter().all(|&bits| f32::from_bits(bits).abs() <= 9.0), "64 * 81 * 16 < 2^24");
    }
    assert_ne!(elements(1, 64, Dtype::I32, Fill::Uniform), elements(2, 64, Dtype::I32, Fill::Uniform));
    assert!(!equal(Dtype::F32.poison(), Dtype::F32.poison(), Dtype::F32));
}

#[test]
fn operands_are_taken_one_by_one() {
    assert_eq!(operands("@%p1 st.global.v2.f32 [%rd1+8], {%f1, %f2};"), ["[%rd1+8]", "%f1", "%f2"]);
    assert_eq!(operands("fma.rn.f32 %f1, %f2, 0f3F800000, %f4;"), ["%f1", "%f2", "0f3F800000", "%f4"]);
    assert_eq!(operands("ret;"), [""; 0]);
}

#[test]
fn elements_beside_each_other_are_one_block() {
    let row = |row: u32| (0..32).map(move |column| (row, column));
    let of = |places: Vec<(u32, u32)>| {
        named(&blocks(places.into_iter().map(|(row, column)| Elements::single("A", &[row, column])).collect()))
    };
    assert_eq!(of(row(1).rev().chain(row(1)).collect()), "A[1][0..31]");
    assert_eq!(of(row(1).chain(row(2)).collect()), "A[1..2][0..31]");
    assert_eq!(of(row(1).chain(row(3)).collect()), "A[1][0..31] and A[3][0..31]");
    assert_eq!(of((0..4).map(|row| (row, 7)).collect()), "A[0..3][7]");
    assert_eq!(of((0..5).map(|row| (2 * row, 7)).collect()), "A[0][7], A[2][7], A[4][7] and 2 more places");
    let deep = [[0, 1, 2], [0, 1, 3], [1, 1, 2], [1, 1, 3]].map(|index| Elements::single("As", &index));
    assert_eq!(named(&blocks(deep.to_vec())), "As[0..1][1][2..3]");
    assert_eq!(named(&blocks(vec![Elements::single("", &[132]), Elements::single("B", &[0])])), "[132] and B[0]");
}
