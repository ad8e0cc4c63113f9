//! Runs a product on several GPUs: `cargo run --release -p several -- --help`.

use clap::Parser as _;
use common::basics::output::print;
use common::program::cli::sentence;
use several::options::Args;
use several::{nccl, start, watch};

fn main() {
    let args = Args::try_parse().unwrap_or_else(|error| {
        let (text, status) = sentence(&error);
        if status == 0 {
            // A reader that has gone needs no help.
            let _ = print(&text);
        } else {
            watch::say(text.trim_end().trim_start_matches("error: "));
        }
        watch::end(status);
    });
    nccl::set_multicast(args.multicast);
    match start::start(&args) {
        Ok(right) => watch::end(u8::from(!right)),
        Err(error) => {
            watch::say(&format!("{error:#}"));
            watch::end(2);
        }
    }
}
