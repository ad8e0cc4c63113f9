//! A launch whose blocks are driven by hand, and its report in short lines.

use crate::analyses::hazards::{BlockHazards, Hazards};
use crate::analyses::testing::{BODY, Request, begin, kernel, memory, number, request};
use crate::observe::{Analysis, BlockInfo, CopyAccess, Observer};
use crate::{DevicePointer, Dim3, GlobalMemory, Hazard, Kernel};

pub(super) const STORE: &str = "st.shared.u32";
pub(super) const LOAD: &str = "ld.shared.u32";
pub(super) const ATOM: &str = "atom.shared";
pub(super) const GLOBAL_STORE: &str = "st.global.u32";
pub(super) const GLOBAL_LOAD: &str = "ld.global.u32";
pub(super) const GLOBAL_ATOM: &str = "atom.global";

/// A launch whose blocks are driven by hand.
pub(super) struct Launch {
    pub kernel: Kernel,
    pub hazards: Hazards,
    pub _memory: GlobalMemory,
    pub a: DevicePointer,
    pub c: DevicePointer,
}

pub(super) fn launch_of(body: &str, output: bool) -> Launch {
    let kernel = kernel(body);
    let (memory, a, c) = memory();
    let mut hazards = if output { Hazards::new().output(c) } else { Hazards::new() };
    begin(&mut hazards, &kernel, &memory);
    Launch { kernel, hazards, _memory: memory, a, c }
}

pub(super) fn launch() -> Launch {
    launch_of(BODY, false)
}

impl Launch {
    /// A block from its start to its end.
    pub fn block(&self, number: u64, run: impl FnOnce(&mut Block<'_>)) {
        let info = BlockInfo { index: Dim3::new(number as u32, 0, 0), number, threads: 96 };
        let mut block = Block { launch: self, watch: self.hazards.block(&info).unwrap() };
        run(&mut block);
        self.hazards.end(Some(block.watch));
    }

    /// Everything found, a line each.
    pub fn report(&self) -> Vec<String> {
        self.hazards.report().iter().map(line).collect()
    }
}

/// `Race s + 0 bytes: 0/1 writes st.shared.u32; 0/40 reads ld.shared.u32; x2`, with block/thread.
pub(super) fn line(hazard: &Hazard) -> String {
    let mut text = format!("{:?} {}:", hazard.kind, hazard.place);
    for party in &hazard.parties {
        let word = party.location.instruction.split(' ').next().unwrap_or_default().trim_end_matches(';').to_owned();
        text += &format!(" {}/{} {} {word};", party.block.x, party.thread.x, party.action);
    }
    format!("{text} x{}", hazard.count)
}

pub(super) struct Block<'a> {
    pub launch: &'a Launch,
    pub watch: BlockHazards,
}

impl Block<'_> {
    pub fn access(&mut self, request: &Request) {
        self.watch.access(&request.access(&self.launch.kernel));
    }

    /// One thread accesses one place.
    pub fn one(&mut self, start: &'static str, thread: u32, address: u64) {
        self.access(&request(start).warp(thread / 32).lanes(1 << (thread % 32)).at(|_| address));
    }

    pub fn number(&self, start: &str) -> u32 {
        number(&self.launch.kernel, start)
    }

    pub fn barrier(&mut self, warps: u32) {
        let instruction = self.number("bar.sync 0");
        for warp in (0..3).filter(|warp| warps >> warp & 1 != 0) {
            self.watch.barrier_arrive(warp, instruction, 0, u32::MAX, true);
        }
        self.watch.barrier_release(0, warps);
    }

    /// Copies 8 bytes a lane from the start of A.
    pub fn copy(&mut self, warp: u32, lanes: u32, to: impl Fn(u64) -> u64) {
        let a = self.launch.a.0;
        let copy = CopyAccess {
            warp,
            instruction: self.number("cp.async.ca"),
            lanes,
            bytes: 8,
            bypass: false,
            source_bytes: &[8; 32],
            from: &std::array::from_fn(|lane| a + 8 * lane as u64),
            to: &std::array::from_fn(|lane| to(lane as u64)),
        };
        self.watch.copy(&copy);
    }

    pub fn commit(&mut self, warp: u32, lanes: u32) {
        self.watch.copy_commit(warp, 0, lanes);
    }

    pub fn wait(&mut self, warp: u32, lanes: u32, pending: Option<u32>) {
        self.watch.copy_wait(warp, 0, lanes, pending);
    }
}

/// The report of one block.
pub(super) fn found(run: impl FnOnce(&mut Block<'_>)) -> Vec<String> {
    let launch = launch();
    launch.block(0, run);
    launch.report()
}

pub(super) const CLEAN: [&str; 0] = [];
