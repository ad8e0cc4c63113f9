//! What a driver has left out or mixed up, as far as its calls show it. It is said only of a wrong product: then it is the cause, and no
//! line of the kernel is.

use crate::basics::Side;
use crate::device::Buffer;
use crate::program::gpu::Gpu;
use plan::{Arg, Launch, Role};

impl Gpu<'_> {
    /// The first slip of the driver, in a sentence.
    pub(super) fn slip(&self) -> Option<String> {
        let Some((copied, launches)) = self.copied_back else {
            return Some("nothing was copied back; call copy_to_host with the memory of C after the launch".into());
        };
        if self.launched.is_empty() {
            return Some("no kernel was launched; call launch before C is copied back".into());
        }
        if launches == 0 {
            return Some("C was copied back before the launch; call copy_to_host after it".into());
        }
        for (side, name) in [(Side::A, "A"), (Side::B, "B")] {
            if self.holding(side).is_none() {
                return Some(format!("{name} was never copied to the device; call copy_to_device before launch"));
            }
        }
        let of_launch = |(launch, (_, arrays)): &(Launch, (_, Vec<Buffer>))| {
            self.wrong_arrays(launch, arrays).or_else(|| self.wrong_sizes(launch)).or_else(|| self.too_small(launch))
        };
        let passes = |(launch, (_, arrays)): &(Launch, (_, Vec<Buffer>))| points_to(launch, arrays).contains(&copied);
        let is_operand = [Side::A, Side::B].iter().any(|&side| self.holding(side) == Some(copied));
        let is_written = !is_operand && self.launched.iter().any(passes);
        let name = self.name(copied);
        let other = || format!("{name} was copied back, and no launch has it as its C; copy back the memory of C");
        let found = self.launched.iter().find_map(of_launch).or_else(|| (!is_written).then(other));
        found.or_else(|| self.unlike_the_plan()).or_else(|| self.rows_left_out())
    }

    /// Whether this is a launch of `matmul(A, B, C, M, N, K)` as a step makes it.
    fn is_matmul(&self, launch: &Launch) -> bool {
        let is_beyond = self.asked.options.variant.is_some_and(|variant| variant.role == Role::Beyond);
        launch.entry == "matmul" && launch.args.len() == 6 && !is_beyond
    }

    /// Whether the launch passes other arrays than A, B and C, in this order.
    fn wrong_arrays(&self, launch: &Launch, arrays: &[Buffer]) -> Option<String> {
        let passed = points_to(launch, arrays);
        let takes = [self.holding(Side::A)?, self.holding(Side::B)?];
        if !self.is_matmul(launch) || passed.len() != 3 {
            return None;
        }
        // Of the third it is known only that it is neither operand.
        if passed[..2] != takes || takes.contains(&passed[2]) {
            let names: Vec<&str> = passed.iter().map(|buffer| self.name(*buffer)).collect();
            return Some(format!(
                "the launch passes {} for A, B and C; pass them in the order of the kernel's parameters",
                joined(&names)
            ));
        }
        let (has, takes) = (self.elements(passed[2]), self.problem.c_elements());
        if has < takes && launch.args.iter().any(|arg| matches!(arg, Arg::C(_))) {
            return Some(format!("the memory of C has {has} elements and C has {takes}; allocate {takes}"));
        }
        let begins = launch.args.iter().filter_map(|arg| arg.array()).map(|(_, offset)| offset);
        let is_shifted = self.launched.len() == 1 && begins.clone().any(|offset| offset != 0);
        is_shifted.then(|| {
            let begins: Vec<String> = begins.map(|offset| offset.to_string()).collect();
            format!("the launch passes A, B and C from their elements {} on; pass them from 0 on", joined(&begins))
        })
    }

    /// Whether the launch passes other sizes than M, N and K.
    fn wrong_sizes(&self, launch: &Launch) -> Option<String> {
        let passed = sizes(launch);
        let (is_one, [m, n, k]) = (self.launched.len() == 1, self.problem.sizes());
        let rows = if is_one { m } else { *passed.first()? };
        (self.is_matmul(launch) && passed != [rows, n, k]).then(|| {
            let [passed, takes] = [&passed[..], &[rows, n, k]].map(joined);
            format!("the launch passes {passed} for M, N and K, which are {takes}; pass them in this order")
        })
    }

    /// Whether the grid leaves a part of C out, by the columns and rows of C that a block computes.
    fn too_small(&self, launch: &Launch) -> Option<String> {
        let (tile, [x, y, z]) = (self.plan.as_ref()?.tile, launch.grid.map(u64::from));
        let (rows, columns) = (u64::from(*sizes(launch).first()?), self.problem.n);
        // Layers may be bands of columns.
        let covered = [x * z * u64::from(tile[0]), y * u64::from(tile[1])];
        let is_short = covered[0] < columns || covered[1] < rows;
        (self.is_matmul(launch) && is_short).then(|| {
            format!(
                "the grid of {x}×{y} blocks covers {} columns and {} rows of C, which has {columns} and {rows}; round the grid up",
                covered[0], covered[1]
            )
        })
    }

    /// Whether the driver launches other blocks, or other shared memory, than the plan says.
    fn unlike_the_plan(&self) -> Option<String> {
        let planned = self.planned.as_ref()?;
        let (launch, plan) = self
            .launched
            .iter()
            .map(|(launch, _)| launch)
            .zip(&planned.launches)
            .find(|(launch, plan)| launch != plan)?;
        let threads = |[x, y, z]: [u32; 3]| format!("{x}×{y}×{z}");
        if launch.block != plan.block {
            let [is, planned] = [launch, plan].map(|launch| threads(launch.block));
            return Some(format!(
                "the driver launches blocks of {is} threads and the plan says {planned}; launch what the plan says"
            ));
        }
        (launch.shared_bytes != plan.shared_bytes).then(|| {
            let [is, planned] = [launch, plan].map(|launch| launch.shared_bytes);
            format!("the driver asks for {is} bytes of shared memory and the plan says {planned}; ask for as much as the plan")
        })
    }

    /// Whether the plan has launches that the driver did not make.
    fn rows_left_out(&self) -> Option<String> {
        let (made, planned) = (self.launched.len(), self.planned.as_ref()?.launches.len());
        (made < planned)
            .then(|| format!("the driver makes {made} of the {planned} launches of the plan; make them all"))
    }
}

/// The arrays of a launch, in the order of its arguments.
fn points_to(launch: &Launch, arrays: &[Buffer]) -> Vec<Buffer> {
    launch.args.iter().filter_map(|arg| arrays.get(arg.array()?.0).copied()).collect()
}

/// The integers that a launch passes.
fn sizes(launch: &Launch) -> Vec<u32> {
    launch.args.iter().filter_map(|arg| if let Arg::Int(size) = arg { Some(*size as u32) } else { None }).collect()
}

/// `a, b and c`.
fn joined<T: ToString>(parts: &[T]) -> String {
    let parts: Vec<String> = parts.iter().map(ToString::to_string).collect();
    match parts.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => parts.concat(),
    }
}
