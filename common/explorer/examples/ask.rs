//! Runs a kernel of a data file and asks: `ask DATA KERNEL MxNxK ORDER [REQUEST...]`. For trying the engine by hand.

use explorer::engine::Engine;
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [data, kernel, size, order, requests @ ..] = &arguments[..] else {
        return Err("ask DATA KERNEL MxNxK ORDER [REQUEST...]".into());
    };
    let data: Value = serde_json::from_str(&std::fs::read_to_string(data)?)?;
    let kernels = data["kernels"].as_array().ok_or("no kernels")?;
    let kernel = kernels.iter().find(|known| known["id"] == kernel.as_str()).ok_or("no such kernel")?;
    let form = &kernel["forms"][0];
    let size: Vec<u32> = size.split('x').map(str::parse).collect::<Result<_, _>>()?;
    let mut engine = Engine::new();
    let run = json!({
        "do": "run", "m": size[0], "n": size[1], "k": size[2], "dtype": form["dtype"], "order": order,
        "kernel": { "ptx": form["ptx"], "source": kernel["source"], "file": kernel["file"], "planner": form["planner"] },
    });
    let start = std::time::Instant::now();
    let mut answer: Value = serde_json::from_str(&engine.answer(&run.to_string()))?;
    let took = start.elapsed();
    if let Some(instructions) = answer.get_mut("instructions") {
        *instructions = json!(instructions.as_array().map_or(0, Vec::len));
    }
    println!("{answer}\n{took:?}");
    for request in requests {
        let start = std::time::Instant::now();
        let answer = engine.answer(request);
        println!("{request}\n{answer}\n{:?}", start.elapsed());
    }
    Ok(())
}
