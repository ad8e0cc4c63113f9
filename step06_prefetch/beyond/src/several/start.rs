//! Starts the ranks: threads of this process, one for each GPU.

#![allow(unsafe_code, reason = "ends the process without waiting for threads that wait for ever")]

use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use anyhow::{Result, anyhow, bail, ensure};
use common::basics::output::{print, print_whole};
use common::device::{Choice, CudaDevice, Device, SimDevice, SimOptions, cuda_devices};

use super::grid::Grid;
use super::link::{Link, PostLink};
use super::nccl::{self, NcclLink};
use super::options::Args;
use super::post::{Member, Post};
use super::report;
use super::run::{Outcome, run};

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
        Ok(right) => end(u8::from(!right)),
        Err(error) => {
            // If standard error is closed, the exit status is all there is left to say.
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            end(2);
        }
    }
}

/// Ends the process at once, without the clean-up of libraries: a GPU that waits in NCCL for a rank that is gone waits for ever.
fn end(status: u8) -> ! {
    unsafe extern "C" {
        fn _exit(status: std::ffi::c_int) -> !;
    }
    let _ = std::io::stdout().flush();
    // SAFETY: the C library's function takes any status and does not return.
    unsafe { _exit(status.into()) }
}

/// What a rank tells the thread that has started it: that it is connected with the others, or that it has ended and whether all
/// products were right.
enum News {
    Connected,
    Ended(Result<bool>),
}

/// Starts a thread for each rank; whether all products are right.
fn start(args: &Args) -> Result<bool> {
    let found = cuda_count(args.device)?;
    let world = args.gpus.or(args.grid.map(|grid| grid.gpus())).or(found).unwrap_or(2);
    if let Some(found) = found {
        let plural = if found == 1 { "" } else { "s" };
        ensure!(
            world <= found,
            "--gpus {world} asks for more than there are, because this machine has {found} GPU{plural}; choose at most {found}"
        );
        if world > 1 {
            nccl::present()?;
        }
    }
    let grid = args.grid.unwrap_or_else(|| Grid::of(world));
    ensure!(
        grid.gpus() == world,
        "a grid of {grid} has {} GPUs and not {world}; make --grid and --gpus agree",
        grid.gpus()
    );
    let post = Arc::new(Post::default());
    let (tell, news) = mpsc::channel();
    for rank in 0..world {
        let (args, member, tell) = (args.clone(), Member::new(rank, world, post.clone()), tell.clone());
        let gpu = found.map(|_| rank);
        thread::spawn(move || {
            // The other ranks would wait for one that has panicked.
            let result = catch_unwind(AssertUnwindSafe(|| work(&args, member, grid, gpu, &tell)));
            let result = result.unwrap_or_else(|_| Err(anyhow!("rank {rank} has a bug; report what it printed")));
            // Whoever started this has gone only if the process ends.
            let _ = tell.send(News::Ended(result));
        });
    }
    drop(tell);
    let (mut right, mut connected) = (true, 0);
    loop {
        let limit = if connected < world { CONNECT } else { Duration::MAX };
        match news.recv_timeout(limit) {
            Ok(News::Connected) => connected += 1,
            Ok(News::Ended(Ok(verified))) => right &= verified,
            // The process ends with it: the others would wait for a rank that is gone.
            Ok(News::Ended(Err(error))) => return Err(error),
            Err(RecvTimeoutError::Timeout) => {
                bail!("NCCL has not connected the GPUs within 25 s; set NCCL_DEBUG=INFO to see what it waits for")
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(right),
        }
    }
}

/// One rank's work, on its own thread.
fn work(args: &Args, mut member: Member, grid: Grid, gpu: Option<usize>, tell: &Sender<News>) -> Result<bool> {
    let mut device: Box<dyn Device> = match gpu {
        Some(index) => Box::new(CudaDevice::open(index)?),
        None => Box::new(SimDevice::new(SimOptions::default())),
    };
    let mut link: Box<dyn Link> = match gpu {
        Some(_) => Box::new(NcclLink::connect(device.as_ref(), &member, grid)?),
        None => Box::new(PostLink::new(member.clone(), grid)),
    };
    let _ = tell.send(News::Connected);
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
