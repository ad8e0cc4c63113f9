//! How panels travel: the small interface behind which NCCL works on GPUs, and the post office between simulated ones.

use std::sync::Arc;

use anyhow::{Result, ensure};
use common::device::{Buffer, Device};
use serde::{Deserialize, Serialize};

use super::grid::Grid;
use super::grid::Line;
use super::post::{Label, Member};

/// One panel that goes from the rank that has it to the others of its line.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    pub line: Line,
    /// The panel's number.
    pub panel: usize,
    /// Which GPU of the line sends it, counted from the left or from the top.
    pub root: usize,
    /// Where it is on this GPU: the sender's own store, or where it is to arrive; a buffer and a byte within.
    pub at: (Buffer, u64),
    /// Its length.
    pub bytes: u64,
}

/// What one GPU did from when to when, in milliseconds since its product began.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// The panel's number.
    pub panel: usize,
    /// Whether it was multiplied; else it travelled.
    pub multiplied: bool,
    /// When it began.
    pub from_ms: f64,
    /// When it ended.
    pub to_ms: f64,
}

/// Streams of work on one GPU: panels travel on one of them and are multiplied on others. On a GPU every call only asks for
/// work, and returns at once; what only a GPU has to do is nothing elsewhere.
pub trait Link {
    /// A product begins.
    fn begin(&mut self, _device: &mut dyn Device) -> Result<()> {
        Ok(())
    }

    /// Lets a panel of A and one of B travel, once panel `after` has been multiplied, whose buffers they take.
    fn travel(
        &mut self,
        device: &mut dyn Device,
        panel: usize,
        transfers: &[Transfer],
        after: Option<usize>,
    ) -> Result<()>;

    /// Work that is asked for from here on waits for a panel's arrival.
    fn arrived(&mut self, _device: &mut dyn Device, _panel: usize) -> Result<()> {
        Ok(())
    }

    /// Whatever multiplies this panel has been asked for.
    fn multiplied(&mut self, _device: &mut dyn Device, _panel: usize) -> Result<()> {
        Ok(())
    }

    /// Waits until all is done. Gives the product's milliseconds on this GPU, and what it did when; neither on the simulator.
    fn end(&mut self, device: &mut dyn Device) -> Result<Option<(f64, Vec<Span>)>>;

    /// What moves the data, with its version.
    fn name(&self) -> String;
}

/// Between simulated GPUs: the bytes go through the post office, and each call does its work before it returns.
pub struct PostLink {
    member: Member,
    grid: Grid,
}

impl PostLink {
    /// The link of a rank in a grid.
    pub fn new(member: Member, grid: Grid) -> Self {
        Self { member, grid }
    }
}

impl Link for PostLink {
    fn travel(
        &mut self,
        device: &mut dyn Device,
        _panel: usize,
        transfers: &[Transfer],
        _after: Option<usize>,
    ) -> Result<()> {
        let rank = self.member.rank;
        for transfer in transfers {
            let label = Label::Panel(transfer.line, transfer.panel);
            let line = self.grid.line(transfer.line, rank);
            let sender = line[transfer.root];
            let (buffer, at) = transfer.at;
            if sender == rank {
                let mut bytes = vec![0; transfer.bytes as usize];
                device.read(buffer, at, &mut bytes)?;
                let bytes: Arc<[u8]> = bytes.into();
                for &to in line.iter().filter(|&&to| to != rank) {
                    self.member.send(to, label, bytes.clone());
                }
            } else {
                let bytes = self.member.receive(sender, label)?;
                ensure!(
                    bytes.len() as u64 == transfer.bytes,
                    "rank {rank} expects {} bytes of {label} and gets {}; start all ranks with the same program",
                    transfer.bytes,
                    bytes.len()
                );
                device.write(buffer, at, &bytes)?;
            }
        }
        Ok(())
    }

    fn end(&mut self, device: &mut dyn Device) -> Result<Option<(f64, Vec<Span>)>> {
        device.synchronize().map(|()| None)
    }

    fn name(&self) -> String {
        "messages between simulated GPUs".into()
    }
}
