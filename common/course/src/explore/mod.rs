//! `cargo course explore`: a kernel in one page that opens from the disk, on which it runs before the reader's eyes.

pub mod contents;
#[allow(
    missing_docs,
    reason = "what has no sentence is said by its name, and all of it by the explorer's INTERFACE.md"
)]
pub mod data;
pub mod engine;
pub mod forms;
mod own;
pub mod page;

use std::path::PathBuf;
use std::time::SystemTime;

use anyhow::{Result, anyhow, ensure};
use common::basics::{output, workspace};
use common::program::cli::parse_size;

use crate::files::parse_file;
use crate::steps::Kernel;
use crate::{files, mine};
use data::{Chapter, Data};

/// Options of `cargo course explore`.
#[derive(clap::Args)]
pub struct Options {
    /// A kernel: a file (.cu, .rs or .ptx) with a kernel matmul, a step by its number or name, or STEP/VARIANT. The PTX of any other
    /// kernel can be pasted into a page, behind More
    kernel: String,
    /// The step whose launch the file takes, if its name does not say it and it has no launch line
    #[arg(long)]
    step: Option<String>,
    /// The size that the page shows first: N for N×N×N, or MxNxK, none above 64
    #[arg(long, value_parser = small_size)]
    size: Option<[u32; 3]>,
    /// Where to write the page; by default in mine/, or beside the file
    #[arg(long, value_parser = parse_file())]
    out: Option<PathBuf>,
    /// Open the page in a browser
    #[arg(long)]
    open: bool,
    /// Write the page again each time the kernel is saved; the page shows the new one by itself
    #[arg(long)]
    watch: bool,
}

/// A size that the page can show.
fn small_size(text: &str) -> Result<[u32; 3], String> {
    match parse_size(text)? {
        size if size.iter().all(|&side| side <= 64) => Ok(size.map(|side| side as u32)),
        _ => Err("the explorer shows products of up to 64x64x64; choose a smaller size".into()),
    }
}

/// The page of the book.
pub fn page_of_book() -> Result<String> {
    page::whole(&contents::of_book(), &engine::engine()?)
}

/// The page that is written.
struct Page<'a> {
    options: &'a Options,
    /// The learner's file.
    file: PathBuf,
    /// The kernel of the course that is explored in its place.
    kernel: Option<Kernel>,
    out: PathBuf,
    /// If the page is watched: the script next to it with the number of the latest version.
    script: Option<PathBuf>,
    engine: Option<Vec<u8>>,
}

/// Runs the command.
pub fn run(options: &Options) -> Result<bool> {
    let (name, file) = (&options.kernel, PathBuf::from(&options.kernel));
    let kernel = (!files::is_meant(&file)).then(|| Kernel::named(name)).transpose();
    let kernel = kernel.map_err(|error| anyhow!("there is no file {name}, and {error}"))?;
    let out = options.out.clone().unwrap_or_else(|| match &kernel {
        None => file.with_extension("html"),
        Some(kernel) => mine::folder().join(format!("{}.html", kernel.name().replace('/', "-"))),
    });
    ensure!(
        !out.is_dir(),
        "{} is a folder; name the page to write, e.g. --out {}",
        workspace::display(&out),
        workspace::display(&out.join("page.html"))
    );
    files::check_replaceable(&out, is_page, ELSEWHERE)?;
    let script = options.watch.then(|| out.with_extension("version.js"));
    let mut page = Page { options, file, kernel, out, script, engine: None };
    page.write()?;
    output::print(&format!("{} is written: open it in a browser\n", files::from_here(&page.out)))?;
    if options.open {
        // The path is printed, so a missing browser does not matter.
        let _ = open::that_detached(&page.out);
    }
    if options.watch && page.kernel.is_none() { page.watch() } else { Ok(true) }
}

impl Page<'_> {
    /// Writes the page, and next to it its version if it is watched. After an error nothing is written.
    fn write(&mut self) -> Result<()> {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let version = since.map_or(0, |since| since.as_nanos()).to_string();
        let (mut kernel, chapter) = if let Some(kernel) = &self.kernel {
            contents::of_kernel(kernel)?
        } else {
            let chapter = Chapter { id: "own".into(), title: files::from_here(&self.file), ..Chapter::default() };
            (own::kernel(&self.file, self.options.step.as_deref())?, chapter)
        };
        kernel.size = self.options.size.unwrap_or(kernel.size);
        let script = self.script.as_deref();
        let id = kernel.id.clone();
        let data = Data {
            chapters: vec![Chapter { kernels: vec![id.clone()], ..chapter }],
            kernels: vec![kernel],
            own: Some(id),
            version_text: script.map(|_| version.clone()),
            version_script: script.and_then(|script| Some(script.file_name()?.to_string_lossy().into_owned())),
            counters: contents::counters(),
        };
        // An engine is looked for, and perhaps built, only once there is a kernel for it.
        let engine = match &mut self.engine {
            Some(engine) => engine,
            none => none.insert(engine::engine()?),
        };
        files::replace(&self.out, &page::whole(&data, engine)?, is_page, ELSEWHERE)?;
        let is_script = |old: &str| old.starts_with(SCRIPT);
        let text = format!("{SCRIPT}\"{version}\";\n");
        script.map_or(Ok(()), |script| files::replace(script, &text, is_script, ELSEWHERE))
    }

    /// Writes the page again whenever the file has changed, until the program is stopped.
    fn watch(&mut self) -> Result<bool> {
        let file = self.file.clone();
        let known = files::saved(&file);
        output::print("it is written again at each save; stop this with Ctrl-C\n")?;
        files::at_each_save(&file, known, || match self.write() {
            Ok(()) => output::print(&format!("{} is written again\n", files::from_here(&self.out))),
            // The page stays as it was until the kernel compiles again.
            Err(error) => {
                output::complain(&format!("error: {error:#}\n"));
                Ok(())
            }
        })
    }
}

const ELSEWHERE: &str = "name another page with --out";
/// How the script beside a watched page begins.
const SCRIPT: &str = "window.explorerVersion = ";

/// Whether a text is a page of the explorer: it begins as the pages do that are written now.
fn is_page(text: &str) -> bool {
    page::head().is_ok_and(|head| text.starts_with(&head))
}
