//! The thread that the page has chosen.

use crate::log::LaunchTape;
use crate::request::LookRequest;
use crate::run::Run;
use crate::state::State;

#[derive(Debug, Clone, Copy)]
pub struct Chosen<'a> {
    pub launch: &'a LaunchTape,
    pub block: u32,
    /// The warp in the block.
    pub warp: u32,
    /// The lane in the warp.
    pub lane: usize,
}

impl<'a> Chosen<'a> {
    /// What is asked for, or the last there is; an error if nothing was launched.
    pub fn new(run: &'a Run, state: &State, request: &LookRequest) -> Result<Self, String> {
        let launch = run.tape.launches.get(state.launch).ok_or("nothing was launched")?;
        let last = |count: u32| count.saturating_sub(1);
        let (block, warp) = (request.block.min(last(launch.blocks())), request.warp.min(last(launch.warps())));
        Ok(Self { launch, block, warp, lane: request.lane.min(31) as usize })
    }
}
