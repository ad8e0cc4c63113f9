//! What the rules know about a launch before it starts: the kernel's instructions, the launch's shape, and the arrays.

use super::cell::Sort;
use super::extent::Extent;
use super::hazard::Action;
use super::quick::QuickSet;
use crate::{DevicePointer, Dim3, Kernel, LaunchInfo, Space};
use ptx::lower::inst::{GUARD_NEGATED, Inst, NO_GUARD, NONE, Op, Shape};
use ptx::lower::matrix::{MatrixOp, Scale};
use ptx::lower::{Code, Facts, Home, MemoryOrder, ProductUse, Role, Scope, Start};
use std::sync::OnceLock;

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

fn plain(code: &Code) -> Vec<bool> {
    let plain = |facts: &Facts| !facts.order.is_strong() && !facts.speculated && facts.unread == 0;
    let mut all: Vec<bool> = code.facts.iter().map(plain).collect();
    let matrices = code.insts.iter().filter(|inst| inst.op == Op::Matrix);
    matrices.for_each(|inst| all[inst.pc as usize] = false);
    all
}

fn origin(code: &Code, facts: &Facts) -> (u32, u32) {
    let array = facts.shared_origin.map(|origin| &code.shared_arrays[origin as usize]);
    array.filter(|array| array.bytes > 0).map_or((0, u32::MAX), |array| (array.offset, array.offset + array.bytes))
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
    /// For each instruction, whether no rule for special loads concerns it: it is not strong, not part of a matrix, all that it loads
    /// is read, and its value is certainly needed.
    plain: Vec<bool>,
    /// For each instruction, where the shared array that it accesses starts and ends; all of memory if that is not known.
    origins: Vec<(u32, u32)>,
    /// Where each instruction stands in the code.
    places: OnceLock<Vec<u32>>,
    /// For each basic block, the registers that it reads or sets.
    touched: Vec<OnceLock<QuickSet<Home>>>,
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
            plain: plain(code),
            origins: code.facts.iter().map(|facts| origin(code, facts)).collect(),
            places: OnceLock::new(),
            touched: code.blocks.iter().map(|_| OnceLock::new()).collect(),
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
        let speculated = !writes && !order.is_strong() && self.facts(instruction).speculated;
        Sort { writes, strong, wide: order.is_strong() && scope > Scope::Block, volatile, speculated }
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

    /// Returns where the shared array starts and ends whose address an instruction uses; all of memory if that is not known.
    #[inline]
    pub(super) fn origin(&self, instruction: u32) -> (u32, u32) {
        self.origins[instruction as usize]
    }

    #[inline]
    pub(super) fn is_plain(&self, instruction: u32) -> bool {
        self.plain[instruction as usize]
    }

    /// Whether an instruction moves a part of a matrix between memory and the registers of a warp.
    #[inline]
    pub(super) fn is_matrix(&self, instruction: u32) -> bool {
        !self.plain[instruction as usize] && self.inst(instruction).op == Op::Matrix
    }

    #[cold]
    pub(super) fn element_is_unread(&self, instruction: u32, unread: u8, bytes: u64) -> bool {
        let element = u64::from(Shape::unpack(self.inst(instruction).sub).bytes);
        unread >> (bytes / element).min(7) & 1 == 1
    }

    /// Returns an instruction by its number.
    pub(super) fn inst(&self, number: u32) -> &Inst {
        let insts = &self.code().insts;
        let at = self.places.get_or_init(|| {
            let mut at = vec![0; self.code().facts.len()];
            let all = (0_u32..).zip(insts).filter(|(_, inst)| !inst.op.is_note());
            all.for_each(|(place, inst)| at[inst.pc as usize] = place);
            at
        });
        &insts[at[number as usize] as usize]
    }

    /// Whether any instruction of a basic block reads or sets one of these registers.
    pub(super) fn touches<'a>(&self, block: u32, mut registers: impl Iterator<Item = &'a Home>) -> bool {
        let touched = self.touched[block as usize].get_or_init(|| {
            let range = self.code().blocks[block as usize].clone();
            range.flat_map(|number| self.registers(self.inst(number))).collect()
        });
        registers.any(|register| touched.contains(register))
    }

    /// Returns the registers that an instruction reads or sets.
    fn registers(&self, inst: &Inst) -> Vec<Home> {
        let fields = [inst.d, inst.a, inst.b, inst.c, inst.e].into_iter().enumerate();
        let own = fields.filter_map(|(field, place)| self.facts(inst.pc).home(field, place));
        let guard = (inst.guard != NO_GUARD).then(|| Home::Predicate((inst.guard & !GUARD_NEGATED).into()));
        own.chain(guard).chain(more(self.code(), inst).into_iter().map(|(home, _)| home)).collect()
    }
}

/// Returns the registers of an instruction on matrices, and whether it sets each without reading it.
pub(super) fn more(code: &Code, inst: &Inst) -> Vec<(Home, bool)> {
    if !matches!(inst.op, Op::Matrix | Op::Warpgroup) {
        return vec![];
    }
    let matrix = &code.matrices[inst.imm as usize];
    let double = match &matrix.op {
        MatrixOp::Multiply(fragments, _) => {
            fragments.iter().flat_map(|one| vec![one.kind.bytes() == 8; one.registers as usize]).collect()
        }
        MatrixOp::Move { fragment, .. } => vec![fragment.kind.bytes() == 8; matrix.registers.len()],
        _ => vec![false; matrix.registers.len()],
    };
    // A product may ignore the old sums; then only its predicate tells.
    let adds = matrix.op.product().is_some_and(|product| product.scale == Scale::Always);
    let homes = matrix.registers.iter().zip(double).enumerate().filter(|(_, (place, _))| **place != NONE);
    let home = |place: u32, double: bool| if double { Home::Double(place) } else { Home::Word(place) };
    homes.map(|(at, (&place, double))| (home(place, double), at < matrix.results as usize && !adds)).collect()
}
