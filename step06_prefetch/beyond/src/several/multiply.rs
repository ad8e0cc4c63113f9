//! The product: while a panel is multiplied, the next one travels. Step 6's two buffers, one level up.

use std::ops::Range;

use anyhow::Result;
use common::basics::matrix::{Side, integer_range};
use common::device::{Buffer, Device};
use common::{Dtype, Fill, Problem};

use super::grid::Line;
use super::kernels::{self, Block, Kernels};
use super::link::{Link, Transfer};
use super::plan::Panels;

/// What one rank has of a product: its block of C, its panels of A and B, and two buffers for those of others.
pub struct Share {
    pub problem: Problem,
    pub panels: Panels,
    pub rank: usize,
    pub rows: Range<u64>,
    pub cols: Range<u64>,
}

/// Bytes that a rank's share takes on its GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes {
    pub a: u64,
    pub b: u64,
    pub c: u64,
    /// One of the two buffers for others' panels of A, and of B; 0 if none come.
    pub buffers: [u64; 2],
}

impl Bytes {
    pub fn total(&self) -> u64 {
        self.a + self.b + self.c + 2 * (self.buffers[0] + self.buffers[1])
    }
}

impl Share {
    /// The share of a rank; the error says why the grid does not fit the problem.
    pub fn new(problem: &Problem, panels: Panels, rank: usize) -> Result<Self> {
        let (rows, cols) = panels.grid.block(rank, problem.m, problem.n)?;
        Ok(Self { problem: *problem, panels, rank, rows, cols })
    }

    pub fn m(&self) -> u64 {
        self.rows.end - self.rows.start
    }

    pub fn n(&self) -> u64 {
        self.cols.end - self.cols.start
    }

    /// Elements of a panel along a line for each step of K: its rows of A, its columns of B.
    fn side(&self, line: Line) -> u64 {
        if line == Line::Row { self.m() } else { self.n() }
    }

    pub fn bytes(&self) -> Bytes {
        let own = |line| {
            let depths = self.panels.own(line, self.rank).into_iter().map(|panel| self.panels.panels[panel].depth());
            depths.sum::<u64>() * self.side(line) * 4
        };
        let buffer = |line| {
            let alone = self.panels.grid.line(line, self.rank).len() == 1;
            if alone { 0 } else { self.panels.deepest() * self.side(line) * 4 }
        };
        Bytes {
            a: own(Line::Row),
            b: own(Line::Column),
            c: self.m() * self.n() * 4,
            buffers: [buffer(Line::Row), buffer(Line::Column)],
        }
    }
}

/// A share in the memory of its GPU.
pub struct Memory {
    a: Buffer,
    b: Buffer,
    c: Buffer,
    /// Two buffers for panels of A and two for those of B, where panels of others come.
    buffers: [Option<[Buffer; 2]>; 2],
}

impl Memory {
    /// Allocates; draws nothing yet.
    pub fn allocate(device: &mut dyn Device, share: &Share) -> Result<Self> {
        let bytes = share.bytes();
        // A rank may have no panel of its own; a buffer of nothing is no buffer.
        let mut alloc = |name: &str, bytes: u64| device.alloc(name, bytes.max(4));
        let (a, b, c) = (alloc("A", bytes.a)?, alloc("B", bytes.b)?, alloc("C", bytes.c)?);
        let mut two = |name: &str, bytes: u64| -> Result<Option<[Buffer; 2]>> {
            if bytes == 0 { Ok(None) } else { Ok(Some([alloc(name, bytes)?, alloc(name, bytes)?])) }
        };
        let buffers = [two("panel of A", bytes.buffers[0])?, two("panel of B", bytes.buffers[1])?];
        Ok(Self { a, b, c, buffers })
    }

    pub fn c(&self) -> Buffer {
        self.c
    }

    pub fn release(self, device: &mut dyn Device) -> Result<()> {
        let buffers = self.buffers.into_iter().flatten().flatten();
        [self.a, self.b, self.c].into_iter().chain(buffers).try_for_each(|buffer| device.free(buffer))
    }

    /// Where a panel is when it is multiplied: in this rank's own store, or in one of the two buffers in turn.
    pub fn panel(&self, share: &Share, line: Line, panel: usize) -> (Buffer, u64) {
        let (store, buffers) = match line {
            Line::Row => (self.a, self.buffers[0]),
            Line::Column => (self.b, self.buffers[1]),
        };
        match buffers {
            Some(buffers) if share.panels.sender(panel, line, share.rank) != share.rank => (buffers[panel % 2], 0),
            _ => (store, share.panels.own_depth_before(line, share.rank, panel) * share.side(line) * 4),
        }
    }
}

/// Draws the panels that this rank has, on its GPU: the elements that any program of the course draws for the seed.
pub fn draw(device: &mut dyn Device, kernels: &Kernels, share: &Share, memory: &Memory) -> Result<()> {
    let problem = &share.problem;
    let range = if problem.fill == Fill::Uniform { 0 } else { integer_range(problem.k) };
    for panel in share.panels.own(Line::Row, share.rank) {
        let k = &share.panels.panels[panel].k;
        let (row, rows) = (share.rows.start, share.m());
        let block = Block { row, rows, col: k.start, cols: k.end - k.start, width: problem.k, range };
        kernels.draw(device, memory.panel(share, Line::Row, panel), &block, Side::A.key(problem))?;
    }
    for panel in share.panels.own(Line::Column, share.rank) {
        let k = &share.panels.panels[panel].k;
        let (col, cols) = (share.cols.start, share.n());
        let block = Block { row: k.start, rows: k.end - k.start, col, cols, width: problem.n, range };
        kernels.draw(device, memory.panel(share, Line::Column, panel), &block, Side::B.key(problem))?;
    }
    // C holds what no kernel leaves by accident.
    device.fill(memory.c, Dtype::F32.poison_byte())?;
    device.synchronize()
}

/// Asks for a whole product: the first panel is stored to C, all others are added.
///
/// With `overlap` panel p + 1 travels while panel p is multiplied; without, only once it has been.
pub fn multiply(
    device: &mut dyn Device,
    link: &mut dyn Link,
    kernels: &Kernels,
    share: &Share,
    memory: &Memory,
    overlap: bool,
) -> Result<()> {
    let last = share.panels.panels.len() - 1;
    link.begin(device)?;
    travel(device, link, share, memory, 0, None)?;
    for (p, panel) in share.panels.panels.iter().enumerate() {
        // The buffers of panel p + 1 are those of panel p - 1.
        if overlap && p < last {
            travel(device, link, share, memory, p + 1, p.checked_sub(1))?;
        }
        let plan = kernels::plan(device, share.m(), share.n(), panel.depth())?;
        let [a, b] = Line::BOTH.map(|line| memory.panel(share, line, p));
        link.arrived(device, p)?;
        kernels.multiply(device, &plan, [a, b, (memory.c, 0)], p > 0)?;
        link.multiplied(device, p)?;
        if !overlap && p < last {
            travel(device, link, share, memory, p + 1, Some(p))?;
        }
    }
    Ok(())
}

fn travel(
    device: &mut dyn Device,
    link: &mut dyn Link,
    share: &Share,
    memory: &Memory,
    panel: usize,
    after: Option<usize>,
) -> Result<()> {
    let depth = share.panels.panels[panel].depth();
    let lines = Line::BOTH.into_iter().filter(|&line| share.panels.grid.line(line, share.rank).len() > 1);
    let transfers: Vec<Transfer> = lines
        .map(|line| Transfer {
            line,
            panel,
            root: share.panels.root(panel, line),
            at: memory.panel(share, line, panel),
            bytes: depth * share.side(line) * 4,
        })
        .collect();
    link.travel(device, panel, &transfers, after)
}
