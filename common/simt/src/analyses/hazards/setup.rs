//! What the rules know about a launch before it starts: the kernel's instructions, the launch's shape, and the arrays.

use super::cell::Sort;
use super::extent::Extent;
use super::hazard::Action;
use crate::{DevicePointer, Dim3, Kernel, LaunchInfo, SharedArray, Space};
use ptx::lower::{Code, Facts, MemoryOrder, ProductUse, Role, Scope, Start, Step};

#[derive(Debug)]
pub(super) struct Array {
    pub base: u64,
    pub bytes: u64,
    pub name: String,
    pub element_bytes: u32,
    /// Whether the kernel must write every element.
    pub output: bool,
}

impl Array {
    /// Returns the array as it appears in a [`crate::Place`].
    pub(super) fn named(&self) -> crate::Array {
        crate::Array { name: self.name.clone(), space: Space::Global }
    }

    pub(super) fn holds(&self, address: u64) -> bool {
        address >= self.base && address - self.base < self.bytes
    }
}

/// Returns the number of the array into which the parameter at an offset points.
fn array(launch: &LaunchInfo<'_>, offset: u32) -> Option<usize> {
    let bytes = launch.params.get(offset as usize..)?.first_chunk()?;
    launch.memory.number(u64::from_le_bytes(*bytes), 1)
}

/// Returns for each instruction whether it loads from an array that this launch does not write and that is not an output.
fn reads_unwritten(launch: &LaunchInfo<'_>, outputs: &[DevicePointer]) -> Vec<bool> {
    let code = &launch.kernel.code;
    let mut all = vec![false; code.facts.len()];
    // `Some(Some(number))` is an array, `Some(None)` a variable of the kernel, and `None` an unknown place.
    let place = |start: &Option<Start>| match (*start)? {
        Start::Param(offset) => array(launch, offset).map(Some),
        Start::Variable(_) => Some(None),
    };
    let Some(writes) = code.traffic.writes.iter().map(place).collect::<Option<Vec<_>>>() else { return all };
    for (instruction, start) in &code.traffic.loads {
        let Some(Some(array)) = place(start) else { continue };
        let output = outputs.contains(&launch.memory.allocations()[array].base);
        all[*instruction as usize] = !output && !writes.contains(&Some(array));
    }
    all
}

#[derive(Debug)]
pub(super) struct Setup {
    pub kernel: Kernel,
    pub block: Dim3,
    pub grid: Dim3,
    pub extent: Extent,
    pub shared_units: usize,
    pub arrays: Vec<Array>,
    /// Whether what blocks do may depend on the order in which they run.
    pub in_order: bool,
    /// For each instruction, whether it loads from an array that nobody writes during the launch. Such a load cannot be a hazard.
    pub reads_unwritten: Vec<bool>,
}

impl Setup {
    pub(super) fn new(launch: &LaunchInfo<'_>, outputs: &[DevicePointer]) -> Self {
        let extent = Extent::new(launch.kernel, launch.config);
        let arrays = launch.memory.allocations().iter().map(|array| Array {
            base: array.base.0,
            bytes: array.bytes,
            name: array.name.clone(),
            element_bytes: array.element_bytes,
            output: outputs.contains(&array.base),
        });
        let code = &launch.kernel.code;
        Self {
            in_order: code.communicates
                || code.traffic.meets(|a, b| array(launch, a).is_some() && array(launch, a) == array(launch, b)),
            reads_unwritten: reads_unwritten(launch, outputs),
            kernel: launch.kernel.clone(),
            block: launch.config.block,
            grid: launch.config.grid,
            shared_units: extent.units(launch.shared_bytes.into()) as usize,
            extent,
            arrays: arrays.collect(),
        }
    }

    pub(super) fn code(&self) -> &Code {
        &self.kernel.code
    }

    #[inline]
    pub(super) fn facts(&self, instruction: u32) -> &Facts {
        &self.code().facts[instruction as usize]
    }

    /// Returns the address of a unit of shared memory.
    pub(super) fn address(&self, index: usize) -> u32 {
        (index << self.extent.unit) as u32
    }

    pub(super) fn is_output(&self, address: u64) -> bool {
        self.arrays.iter().any(|array| array.output && array.holds(address))
    }

    /// Whether fences must be followed: they may order threads, or the kernel uses the asynchronous proxy (products of a warpgroup,
    /// bulk copies).
    pub(super) fn follows_fences(&self) -> bool {
        self.extent.fenced || self.code().products.any() || self.code().copies.iter().any(|copy| copy.bulk.is_some())
    }

    /// Returns how the instructions `first..end` use the registers of products, in order: instruction, register, use.
    pub(super) fn product_uses(&self, first: u32, end: u32) -> impl Iterator<Item = (u32, u32, ProductUse)> + '_ {
        let uses = &self.code().products.steps;
        let start = uses.partition_point(|step| step.0 < first);
        uses[start..].iter().copied().take_while(move |step| step.0 < end)
    }

    /// Returns an instruction's part in the memory order: its scope, and whether it is strong, acquires or releases.
    pub(super) fn order(&self, instruction: u32) -> MemoryOrder {
        self.facts(instruction).order
    }

    pub(super) fn sort(&self, instruction: u32, writes: bool) -> Sort {
        let order @ MemoryOrder { strong, volatile, scope, .. } = self.order(instruction);
        Sort { writes, strong, wide: order.is_strong() && scope > Scope::Block, volatile }
    }

    /// Returns the bit of the result of an atomic operation, which reads what the ones before it have written.
    pub(super) fn update(&self, instruction: u32) -> Option<u64> {
        let facts = self.facts(instruction);
        matches!(facts.role, Role::Atomic | Role::Exchange).then_some(facts.decides)
    }

    /// Returns the action by which a report names an access of an instruction.
    pub(super) fn action(&self, instruction: u32, writes: bool) -> Action {
        match (self.facts(instruction).role, writes) {
            (Role::Atomic | Role::Exchange, _) => Action::Updates,
            (_, false) => Action::Reads,
            (Role::Copy | Role::BulkCopy, true) => Action::Copies,
            (_, true) => Action::Writes,
        }
    }

    /// Returns the shared array whose address an instruction uses, if both the array and its size are known.
    pub(super) fn origin(&self, instruction: u32) -> Option<&SharedArray> {
        let origin = self.facts(instruction).shared_origin?;
        Some(&self.code().shared_arrays[origin as usize]).filter(|array| array.bytes > 0)
    }

    /// Returns the instructions among `first..end` that read or set registers that are followed.
    pub(super) fn steps(&self, first: u32, end: u32) -> &[Step] {
        let steps = &self.code().steps;
        let at = |number: u32| steps.partition_point(|step| step.instruction < number);
        &steps[at(first)..at(end)]
    }

    /// Returns the end of the basic block that contains an instruction.
    pub(super) fn block_end(&self, instruction: u32) -> u32 {
        let blocks = &self.code().blocks;
        blocks[blocks.partition_point(|block| block.end <= instruction)].end
    }
}
