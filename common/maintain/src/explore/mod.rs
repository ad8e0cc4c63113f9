//! `cargo x explorer`: what the explorer's page is made of and cannot be made everywhere: the engine, and PTX with smaller tiles.
//! `cargo course` puts the page together.

mod native;

use std::path::PathBuf;

use anyhow::Result;
use common::basics::output::print;
use common::basics::workspace;
use common::code::{Source, nvrtc};
use course::explore::data::{Form, Kernel};
use course::explore::{contents, engine, forms};
use course::files;
use course::steps::STEPS;
use explorer::run::Run;

use crate::generated::Generated;

/// Options of `cargo x explorer`.
#[derive(clap::Args, Default)]
pub struct Options {
    /// Change nothing; exit with 1 if a file is not what its sources give
    #[arg(long)]
    pub check: bool,
    /// Write what the engine records of every kernel of the page, as JSON: the browser's test compares it
    #[arg(long, value_name = "FILE")]
    pub native: Option<PathBuf>,
}

/// Runs the command; `false` if the check fails.
pub fn run(options: &Options) -> Result<bool> {
    if let Some(path) = &options.native {
        let runs = native::native(&contents::of_book())?;
        files::write(path, &format!("{}\n", serde_json::json!({ "runs": runs })))?;
        print(&format!("{}: {} runs\n", workspace::display(path), runs.len()))?;
        return Ok(true);
    }
    let mut generated = Generated::new(options.check);
    smaller_tiles(&mut generated)?;
    let mut text = format!("{}{}\n", generated.text, generated.verdict("PTX files with smaller tiles", "explorer"));
    let (fresh, name) = (engine::is_fresh()?, workspace::display(&engine::packed()));
    text += &match (fresh, options.check) {
        (true, _) => format!("{name} is fresh\n"),
        (false, true) => format!("stale: {name}; make it again with cargo x explorer\n"),
        (false, false) => format!("made {name}, {} bytes unpacked\n", engine::pack()?),
    };
    print(&text)?;
    Ok(generated.ok() && (fresh || !options.check))
}

/// The PTX of a smaller tile for each kernel whose usual one would be all of a small C.
fn smaller_tiles(generated: &mut Generated) -> Result<()> {
    nvrtc::find()?;
    for step in STEPS {
        for kernel in &contents::plain_step(step)?.1 {
            let source = Source::read(&workspace::root().join(&kernel.file))?;
            for usual in &kernel.forms {
                let Some((smaller, file, form)) = forms::smaller(kernel, usual, &source) else { continue };
                // Not every kernel takes that tile; one that does not compile, or is wrong where the course's is right, is left out.
                let Ok(ptx) = source.compile_to_commit(&smaller) else { continue };
                let form = Form { ptx, ..form };
                if is_right(kernel, &form) || !is_right(kernel, usual) {
                    generated.file(&file, &form.ptx)?;
                }
            }
        }
    }
    generated.left_over(&forms::smaller_folder())
}

/// Whether a form computes the right product, without hazards.
fn is_right(kernel: &Kernel, form: &Form) -> bool {
    let sizes = [[64, 64, 64], [33, 48, 20], [17, 33, 7]];
    sizes.into_iter().filter(|&size| form.plan(size, &kernel.source).is_some()).all(|size| {
        let run = Run::new(&kernel.request(form, size));
        run.is_ok_and(|run| run.is_right() && run.hazards.iter().all(|found| found.hazard.kind.is_warning()))
    })
}
