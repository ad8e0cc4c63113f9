//! Starts the ranks: as threads of this process, one for each GPU, or this process as one rank of several.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Result, anyhow, bail, ensure};
use common::basics::output::{print, print_whole};
use common::device::{Choice, CudaDevice, Device, SimDevice, SimOptions, cuda_devices};

use super::grid::Grid;
use super::link::{Link, PostLink};
use super::nccl::{self, NcclLink};
use super::options::Args;
use super::place::Place;
use super::post::{Member, Post};
use super::rendezvous;
use super::report;
use super::run::{Outcome, run};
use super::watch::{self, Limit};

/// How long the GPUs may take to find each other through NCCL.
const CONNECT: Duration = Duration::from_secs(25);
/// Edge of the problem if no size is given, on GPUs and on the simulator.
const DEFAULT: [u64; 2] = [16_384, 96];

/// GPUs of this machine that the ranks use, or none: they are simulated.
fn cuda_count(choice: Choice) -> Result<Option<usize>> {
    match (choice, cuda_devices()) {
        (Choice::Sim, _) | (Choice::Auto, Err(_)) => Ok(None),
        (_, Ok(devices)) => Ok(Some(devices.len())),
        (_, Err(error)) => Err(error),
    }
}

/// Runs what is asked for, and ends the process: with 0, with 1 if a product is wrong, or with 2 after an error's sentence.
pub fn main(args: &Args) -> ! {
    match start(args) {
        Ok(right) => watch::end(u8::from(!right)),
        Err(error) => {
            watch::say(&format!("{error:#}"));
            watch::end(2);
        }
    }
}

/// Whether all products are right.
fn start(args: &Args) -> Result<bool> {
    match Place::from(|name| std::env::var(name).ok())? {
        // A launcher may start a single process, whose GPUs are then threads as usual.
        Some(place) if place.world > 1 => one_of_several(args, &place),
        _ => all_as_threads(args),
    }
}

/// The grid that is asked for, of so many GPUs.
fn grid(args: &Args, gpus: usize) -> Result<Grid> {
    let grid = args.grid.unwrap_or_else(|| Grid::of(gpus));
    ensure!(
        grid.gpus() == gpus,
        "a grid of {grid} has {} GPUs and not {gpus}; make --grid and --gpus agree",
        grid.gpus()
    );
    Ok(grid)
}

fn machine(gpus: usize) -> String {
    format!("this machine has {gpus} GPU{}", if gpus == 1 { "" } else { "s" })
}

/// All ranks are threads of this process.
fn all_as_threads(args: &Args) -> Result<bool> {
    let found = cuda_count(args.device)?;
    let world = args.gpus.or(args.grid.map(|grid| grid.gpus())).or(found).unwrap_or(2);
    if let Some(found) = found {
        ensure!(
            world <= found,
            "--gpus {world} asks for more than there are, because {}; choose at most {found}, or start ranks on several machines",
            machine(found)
        );
        if world > 1 {
            nccl::present()?;
        }
    }
    let grid = grid(args, world)?;
    let post = Arc::new(Post::default());
    watch::over(&post);
    let (done, results) = mpsc::channel();
    for rank in 0..world {
        let (args, member, done) = (args.clone(), Member::new(rank, world, post.clone()), done.clone());
        let gpu = found.map(|_| rank);
        thread::spawn(move || {
            // The other ranks would wait for one that has panicked.
            let result = catch_unwind(AssertUnwindSafe(|| work(&args, member, grid, gpu)));
            let result = result.unwrap_or_else(|_| Err(anyhow!("rank {rank} has a bug; report what it printed")));
            // Whoever started this has gone only if the process ends.
            let _ = done.send((rank, result));
        });
    }
    drop(done);
    let mut right = true;
    for (rank, result) in results {
        match result {
            Ok(verified) => right &= verified,
            // The first failure is the cause; the others wait for a rank that is gone.
            Err(error) => bail!("{}", post.fail(rank, &format!("{error:#}"))),
        }
    }
    post.close();
    Ok(right)
}

/// This process is one rank.
fn one_of_several(args: &Args, place: &Place) -> Result<bool> {
    let (rank, world) = (place.rank, place.world);
    ensure!(
        args.gpus.is_none_or(|gpus| gpus == world),
        "--gpus {} is not the number of ranks that were started, {world}; leave it out, or start as many",
        args.gpus.unwrap_or_default()
    );
    let grid = grid(args, world)?;
    let found = cuda_count(args.device)?;
    let kind = if found.is_some() { "cuda" } else { "sim" };
    let post = rendezvous::meet(place, &args.shared(kind, DEFAULT[usize::from(found.is_none())]))?;
    watch::over(&post);
    let gpu = found.map(|found| place.local.unwrap_or(rank % found.max(1)));
    let fits = match (found, gpu) {
        (Some(found), Some(gpu)) if gpu >= found => {
            Err(anyhow!("rank {rank} is to use cuda:{gpu}, and {}; start fewer ranks there", machine(found)))
        }
        _ => Ok(()),
    };
    let member = Member::new(rank, world, post.clone());
    match fits.and_then(|()| work(args, member, grid, gpu)) {
        Ok(right) => {
            post.close();
            Ok(right)
        }
        Err(error) => {
            let text = format!("{error:#}");
            let text = if text.contains(&format!("rank {rank}")) { text } else { format!("rank {rank}: {text}") };
            // NCCL may notice first that another rank is gone. The connection to that rank says so soon after.
            thread::sleep(Duration::from_millis(500));
            bail!("{}", post.fail(rank, &text))
        }
    }
}

/// One rank's work, on its own thread.
fn work(args: &Args, mut member: Member, grid: Grid, gpu: Option<usize>) -> Result<bool> {
    let mut device: Box<dyn Device> = match gpu {
        Some(index) => Box::new(CudaDevice::open(index)?),
        None => Box::new(SimDevice::new(SimOptions::default())),
    };
    let mut link: Box<dyn Link> = if gpu.is_some() {
        let what = "NCCL has not connected the GPUs within 25 s; set NCCL_DEBUG=INFO to see what it waits for";
        let limit = Limit::new(member.post(), member.rank, CONNECT, what);
        let link = NcclLink::connect(device.as_ref(), &member, grid)?;
        drop(limit);
        Box::new(link)
    } else {
        Box::new(PostLink::new(member.clone(), grid))
    };
    let mut right = true;
    let mut kernels = None;
    for request in args.requests(DEFAULT[usize::from(gpu.is_none())]) {
        let outcome = run(device.as_mut(), &mut member, link.as_mut(), &mut kernels, grid, &request)?;
        right &= outcome.right();
        if member.rank == 0 {
            show(&outcome, args.json)?;
        }
    }
    // Nobody leaves before all are done.
    member.barrier()?;
    Ok(right)
}

fn show(outcome: &Outcome, json: bool) -> Result<()> {
    if json { print_whole(&(serde_json::to_string(outcome)? + "\n")) } else { print(&report::text(outcome)) }
}
