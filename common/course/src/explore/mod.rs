//! `cargo course explore`: a kernel in one page that opens from the disk, on which it runs before the reader's eyes.

pub mod contents;
pub mod data;
pub mod engine;
pub mod page;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result, anyhow, bail, ensure};
use common::basics::{output, workspace};
use common::code::{Source, check_signature, file_of};
use common::program::cli::parse_size;
use explorer::planner::Planner;
use explorer::run::Run;
use plan::{DeviceInfo, Dtype, OwnLaunch, Step};

use crate::files::{self, parse_file};
use crate::mine;
use crate::steps::{self, Role};
use data::{Chapter, Data, PageKernel};

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

pub fn run(options: &Options) -> Result<bool> {
    let (name, file) = (&options.kernel, PathBuf::from(&options.kernel));
    let kernel = (!files::is_meant(&file)).then(|| steps::Kernel::named(name)).transpose();
    let kernel = kernel.map_err(|error| anyhow!("there is no file {name}, and {error}"))?;
    let out = options.out.clone().unwrap_or_else(|| match &kernel {
        None => file.with_extension("html"),
        Some(kernel) => mine::folder().join(format!("{}.html", kernel.name().replace('/', "-"))),
    });
    let [folder, inside] = [&out, &out.join("page.html")].map(|path| workspace::display(path));
    ensure!(!out.is_dir(), "{folder} is a folder; name the page to write, e.g. --out {inside}");
    files::check_replaceable(&out, page::is_page, ELSEWHERE)?;
    let script = options.watch.then(|| out.with_extension("version.js"));
    let mut engine = None;
    // Writes the page, and next to it its version if it is watched. After an error nothing is written.
    let mut write = || -> Result<()> {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let version = since.map_or(0, |since| since.as_nanos()).to_string();
        let name = script.as_ref().and_then(|script| Some(script.file_name()?.to_string_lossy().into_owned()));
        let of_kernel = data_of(options, &file, kernel.as_ref())?;
        let data = Data { version_text: name.as_ref().map(|_| version.clone()), version_script: name, ..of_kernel };
        // An engine is looked for, and perhaps built, only once there is a kernel for it.
        let engine = match &mut engine {
            Some(engine) => engine,
            none => none.insert(engine::engine()?),
        };
        files::replace(&out, &page::whole(&data, engine)?, page::is_page, ELSEWHERE)?;
        let (text, is_script) = (format!("{SCRIPT}\"{version}\";\n"), |old: &str| old.starts_with(SCRIPT));
        script.as_ref().map_or(Ok(()), |script| files::replace(script, &text, is_script, ELSEWHERE))
    };
    write()?;
    let written = files::from_here(&out);
    output::print(&format!("{written} is written: open it in a browser\n"))?;
    if options.open {
        // The path is printed, so a missing browser does not matter.
        let _ = open::that_detached(&out);
    }
    if !options.watch || kernel.is_some() {
        return Ok(true);
    }
    let known = files::saved(&file);
    output::print("it is written again at each save; stop this with Ctrl-C\n")?;
    files::at_each_save(&file, known, || match write() {
        Ok(()) => output::print(&format!("{written} is written again\n")),
        // The page stays as it was until the kernel compiles again.
        Err(error) => {
            output::complain(&format!("error: {error:#}\n"));
            Ok(())
        }
    })
}

/// What a page shows of a kernel of the course, or of the learner's file.
fn data_of(options: &Options, file: &Path, kernel: Option<&steps::Kernel>) -> Result<Data> {
    let (mut kernel, chapter) = if let Some(kernel) = kernel {
        contents::of_kernel(kernel)?
    } else {
        let chapter = Chapter { id: "own".into(), title: files::from_here(file), ..Chapter::default() };
        (own_kernel(file, options.step.as_deref())?, chapter)
    };
    kernel.size = options.size.unwrap_or(kernel.size);
    let id = kernel.id.clone();
    let chapters = vec![Chapter { kernels: vec![id.clone()], ..chapter }];
    Ok(Data { chapters, kernels: vec![kernel], own: Some(id), counters: contents::counters(), ..Data::default() })
}

const ELSEWHERE: &str = "name another page with --out";
/// How the script beside a watched page begins.
const SCRIPT: &str = "window.explorerVersion = ";

/// The step whose launch a file uses: the one given, or else the one in its path.
fn step_of(file: &Path, named: Option<&str>) -> Result<Option<&'static Step>> {
    if let Some(name) = named {
        return steps::expect(name).map(Some);
    }
    let parts: Vec<_> = file.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    Ok(parts.iter().rev().find_map(|part| {
        let digits: String = part.strip_prefix("step")?.chars().take_while(char::is_ascii_digit).collect();
        steps::named(&format!("step{digits}")).filter(|_| !digits.is_empty())
    }))
}

/// Reads a learner's kernel: its launch, its code, and a first run to see whether it ends. The error says why it cannot be explored.
fn own_kernel(file: &Path, step: Option<&str>) -> Result<PageKernel> {
    let step = step_of(file, step)?;
    let mut source = Source::read(file)?;
    if let Some(step) = &step {
        source = source.with_headers_of(&file_of(step, None));
    }
    let launch = OwnLaunch::of(&source.display, &source.text)?;
    let is_said = step.is_some() || launch.block.is_some() || launch.tile.is_some();
    let say = "name the step whose launch it takes with --step 4, or write a line // launch: block 32,32";
    ensure!(is_said, "{} does not say how it is launched; {say}", source.display);
    source.compiler()?;
    // A kernel that is compiled here may have constants for which no PTX is committed.
    let compiled = !source.is_ptx();
    let device = DeviceInfo { compiles: compiled, ..DeviceInfo::simulated(1 << 32) };
    let planner =
        Planner { step: step.map(|step| step.name.into()), compiled, own: Some(launch), ..Planner::default() };
    let mut all = vec![];
    for one in data::specialisations(&planner, Dtype::F32, &source.text) {
        let code = source.compiled(&one, &device)?;
        check_signature(&code, "matmul", 3, 3)?;
        code.module()?.kernel("matmul").map_err(|error| anyhow!("{}: {error}", source.display))?;
        all.push(data::form(&planner, &one, code.ptx));
    }
    let step = step.map_or_else(String::new, |step| step.name.into());
    let kernel =
        PageKernel { id: "own".into(), step, name: source.stem(), role: Role::Own, ..PageKernel::of(&source, all) };
    try_out(&kernel)?;
    Ok(kernel)
}

/// Runs the kernel once on small matrices, and refuses one that cannot be explored.
fn try_out(kernel: &PageKernel) -> Result<()> {
    let form = kernel.forms.first().with_context(|| {
        format!("{} has no launch for a product of up to 64×64×64; write a line // launch: block 32,32", kernel.file)
    })?;
    let fits = |size: &[u32; 3]| form.plan(*size, &kernel.source).is_some();
    let Some(size) = [[32; 3], [16; 3], [64; 3], [8; 3]].into_iter().find(fits) else { return Ok(()) };
    let run = Run::new(&kernel.request(form, size)).map_err(|error| anyhow!("{}: {error}", kernel.file))?;
    match run.stopped.filter(|_| run.endless) {
        Some(reason) => bail!("{} cannot be explored: {reason}", kernel.file),
        None => Ok(()),
    }
}
