//! The blocks of a launch, dealt out to the host's threads.

use super::block::{Turn, Worker};
use super::context::{Launch, Outcome};
use crate::observe::{Analysis, BlockInfo};
use rayon::prelude::*;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// What the host's threads share.
struct Grid<'a> {
    launch: &'a Launch<'a>,
    /// The numbers of the blocks that are run, in order; none for all.
    only: Option<&'a [u64]>,
    /// Blocks are taken in order, so that a block may wait for the work of earlier ones.
    next: AtomicU64,
    /// No block after this one needs to run.
    last: AtomicU64,
    failure: Mutex<Option<(u64, Outcome)>>,
}

/// Runs all blocks, or only those of these numbers; the failure of the first block in grid order, if any.
pub(super) fn run(
    launch: &Launch,
    analysis: &dyn Analysis,
    only: Option<&[u64]>,
    ended: &(dyn Fn() + Sync),
) -> Option<(u64, Outcome)> {
    // Blocks that may wait for each other take turns, and how fast each of the host's threads is decides nothing.
    let in_order = analysis.in_order() || launch.kernel.code.communicates;
    let workers = launch.config.workers(in_order, grid_blocks(launch, only)) as usize;
    // A system that gives no threads leaves this one.
    let pool = if workers > 1 { rayon::ThreadPoolBuilder::new().num_threads(workers).build().ok() } else { None };
    let (next, last) = (AtomicU64::new(0), AtomicU64::new(u64::MAX));
    let grid = Grid { launch, only, next, last, failure: Mutex::new(None) };
    match pool {
        None => grid.work(analysis, ended),
        Some(pool) => {
            pool.install(|| (0..workers).into_par_iter().with_max_len(1).for_each(|_| grid.work(analysis, ended)));
        }
    }
    grid.failure.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// How many blocks are run.
fn grid_blocks(launch: &Launch, only: Option<&[u64]>) -> u64 {
    only.map_or(launch.config.grid.count(), |only| only.len() as u64)
}

impl<'a> Grid<'a> {
    /// Runs blocks until there are none left, and calls `ended` after each.
    fn work(&self, analysis: &dyn Analysis, ended: &(dyn Fn() + Sync)) {
        let most = self.launch.kernel.resident_blocks(self.launch.config);
        // Blocks in the middle of their work, which may wait for others.
        let mut waiting = VecDeque::new();
        let mut idle = None;
        // Turns in a row in which nothing has happened.
        let mut nothing = 0;
        // Blocks, the first of those that wait, that only look whether what they wait for has happened.
        let mut looking = 0;
        loop {
            let looks = looking > 0;
            looking -= usize::from(looks);
            let new = if !looks && waiting.len() < most { self.take(analysis, &mut idle) } else { None };
            let Some(mut worker) = new.or_else(|| waiting.pop_front()) else { break };
            let before = worker.clock();
            let stopped = worker.number() > self.last.load(Ordering::Relaxed);
            let turn = if stopped { Ok(Turn::Ended) } else { worker.turn(looks) };
            if let Ok(Turn::Idle(warps)) = turn {
                nothing += 1;
                if nothing > waiting.len() {
                    self.launch.waits(warps);
                } else {
                    self.launch.progress.spared.fetch_add(worker.clock() - before, Ordering::Relaxed);
                }
            } else {
                nothing = 0;
            }
            if matches!(turn, Ok(Turn::Over | Turn::Idle(_))) {
                waiting.push_back(worker);
                continue;
            }
            if self.launch.watched && !looks && matches!(turn, Ok(Turn::Told | Turn::Ended)) {
                waiting.make_contiguous().sort_by_key(|worker: &Worker| !worker.asks());
                looking = waiting.iter().filter(|worker| worker.asks()).count();
            }
            if matches!(turn, Ok(Turn::Told)) {
                waiting.push_back(worker);
                continue;
            }
            worker.end();
            ended();
            if let Err(outcome) = turn {
                self.fail(worker.number(), outcome);
            }
            idle = Some(worker);
        }
    }

    /// The next block that is to be run.
    fn take(&self, analysis: &dyn Analysis, idle: &mut Option<Worker<'a>>) -> Option<Worker<'a>> {
        let config = self.launch.config;
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        let count = grid_blocks(self.launch, self.only);
        if turn >= count {
            return None;
        }
        let turn = if self.launch.reversed { count - 1 - turn } else { turn };
        let number = self.only.map_or(turn, |only| only[turn as usize]);
        if number > self.last.load(Ordering::Relaxed) {
            return None;
        }
        let info = BlockInfo { index: config.grid.index(number), number, threads: config.block.count() as u32 };
        let mut worker = idle.take().unwrap_or_else(|| Worker::new(self.launch, info));
        worker.start(info, analysis.block(&info));
        Some(worker)
    }

    fn fail(&self, number: u64, outcome: Outcome) {
        self.last.fetch_min(number, Ordering::Relaxed);
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        if failure.as_ref().is_none_or(|(first, old)| outcome.before(number, old, *first)) {
            *failure = Some((number, outcome));
        }
    }
}
