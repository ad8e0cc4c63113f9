//! Where values come from. For every word that a kernel stores to global memory, this analysis knows which elements were
//! multiplied and added to form it, and how each of them went through shared memory.
//!
//! Registers, shared and local memory carry tags beside their values. A value that is not followed has no tag, and a tag is used only
//! if memory still holds the value that it was made for. So an origin may be unknown, but it is never wrong.

mod arithmetic;
mod block;
mod launch;
mod nodes;

use crate::config::LaunchConfig;
use crate::exec::{Arg, Launched, launch};
use crate::locked::lock;
use crate::memory::GlobalMemory;
use crate::module::Kernel;
use crate::observe::{Analysis, BlockInfo, LaunchInfo, Observer};
pub use block::{BlockOrigins, Placed};
use launch::Launch;
pub use launch::Store;
pub use nodes::{Formed, Nodes, Passage, Source, Tag, Term, Value, single};
use ptx::Dim3;
use ptx::error::Error;
use ptx::lower::inst::{Inst, Op};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

/// Follows the values of a launch. Each multiply-add of a thread takes about 50 bytes, so this is for small launches: after 25 million of
/// them, values are of unknown origin. See [`Provenance::is_cut`].
#[derive(Debug, Default)]
pub struct Provenance {
    launch: Arc<Launch>,
    blocks: Arc<Mutex<Vec<BlockOrigins>>>,
}

/// An element that was put into shared memory.
pub type Arrived = Placed<Value>;

impl Provenance {
    /// Runs a launch and follows its values up to its end, or up to the error that stops it.
    pub fn of(
        kernel: &Kernel,
        memory: &mut GlobalMemory,
        config: &LaunchConfig,
        arguments: &[Arg],
    ) -> (Self, Result<Launched, Error>) {
        let mut provenance = Self::default();
        let ended = launch(kernel, memory, config, arguments, &mut provenance);
        (provenance, ended)
    }

    /// Returns an observer that follows the values of a block, for use inside another observer.
    pub fn origins(&self, block: &BlockInfo) -> BlockOrigins {
        BlockOrigins::new(self.launch.clone(), block)
    }

    /// Returns every word that was stored to global memory, in the order of the stores.
    pub fn stores(&self) -> Vec<Store> {
        let blocks = lock(&self.blocks);
        let mut stores: Vec<Store> = vec![];
        for (of_block, block) in blocks.iter().enumerate() {
            stores.extend(block.stores.iter().map(|store| Store { of_block, ..*store }));
        }
        stores.sort_by_key(|store| store.order);
        stores
    }

    /// Returns the terms whose sum a stored word is.
    pub fn formed(&self, store: &Store) -> Formed {
        lock(&self.blocks)[store.of_block].nodes.formed(store.value)
    }

    /// Returns the first wanted product that the block of a store has formed, whether or not it is part of the stored value, with
    /// a flag: whether it was added to the stored sum later.
    pub fn product<T>(&self, store: &Store, wanted: impl Fn(Term) -> Option<T>) -> Option<(T, bool)> {
        let nodes = &lock(&self.blocks)[store.of_block].nodes;
        let later = |tag: Tag| tag > store.value && nodes.continues(tag, store.value);
        nodes.products().find_map(|term| wanted(term).map(|it| (it, later(term.tag))))
    }

    /// Returns the elements that a block put into shared memory, in order.
    pub fn arrived(&self, block: Dim3) -> Vec<Arrived> {
        let blocks = lock(&self.blocks);
        let of_block = blocks.iter().filter(|it| it.index == block);
        let arrived = |nodes: &Nodes, &Placed { value, address, stored, by, after }: &Placed| {
            let value = nodes.value(value);
            Placed { value, address, stored, by, after }
        };
        of_block.flat_map(|block| block.placed.iter().map(|placed| arrived(&block.nodes, placed))).collect()
    }

    /// Returns how many blocks have run, and the threads of each in x, y and z.
    pub fn launched(&self) -> (usize, Dim3) {
        (lock(&self.blocks).len(), self.launch.threads)
    }

    /// Whether some value was not followed to its end, by the launch or by what was asked for since, because there are too many values
    /// or one has too many parts. What is known of the others is right, but not that there are no more.
    pub fn is_cut(&self) -> bool {
        lock(&self.blocks).iter().any(|block| block.nodes.is_cut())
    }

    /// Returns the index of a thread, given its number in its block.
    pub fn thread(&self, number: u32) -> Dim3 {
        self.launch.threads.index(number.into())
    }
}

impl Analysis for Provenance {
    fn begin(&mut self, launch: &LaunchInfo<'_>) {
        let code = launch.kernel.code.clone();
        let mut instructions = vec![Inst::new(Op::Nop); code.facts.len()];
        for inst in code.insts.iter().filter(|inst| !inst.op.is_note()) {
            instructions[inst.pc as usize] = *inst;
        }
        self.launch = Arc::new(Launch {
            code,
            instructions,
            threads: launch.config.block,
            shared_words: launch.shared_bytes.div_ceil(4) as usize,
            stores: AtomicU64::new(0),
        });
        lock(&self.blocks).clear();
    }

    fn steps(&self) -> bool {
        true
    }

    fn in_order(&self) -> bool {
        true
    }

    fn block(&self, block: &BlockInfo) -> Vec<Box<dyn Observer>> {
        let mut origins = self.origins(block);
        let made = lock(&self.blocks).iter().map(|block| block.nodes.count() as usize).sum();
        origins.nodes = Nodes::after(made);
        origins.home = Some(self.blocks.clone());
        vec![Box::new(origins)]
    }
}
