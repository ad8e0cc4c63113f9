//! What goes past the course: kernels for every shape and on tensor cores, one product on several GPUs, and what measures them.
//!
//! The kernels are variants of step 6 and run in the step's own program. The feature `full` adds the rest; `cargo course`, which
//! lists the kernels and grades their lab, does without it.

pub mod cost;
pub mod every_shape;
pub mod tensor_cores;

#[cfg(feature = "full")]
pub mod accuracy;
#[cfg(feature = "full")]
mod bench;
#[cfg(feature = "full")]
pub mod parts;
#[cfg(feature = "full")]
mod record;
#[cfg(feature = "full")]
pub mod several;
#[cfg(feature = "full")]
pub mod shapes;

use plan::Step;

/// Step 6, with the kernels beyond it in place of its own rungs and counter-examples.
pub const STEP: Step = Step { variants: &[every_shape::VARIANT, tensor_cores::VARIANT], ..step06_prefetch::STEP };

#[cfg(test)]
mod tests {
    use plan::{DeviceInfo, Kind, Problem, Specialisation};

    use super::*;

    #[test]
    fn what_does_not_compile_takes_what_is_committed() {
        let gpu = DeviceInfo { kind: Kind::Cuda, ..DeviceInfo::simulated(1 << 30) };
        for device in [DeviceInfo::simulated(1 << 30), gpu] {
            let sizes = [1, 2, 8, 9, 63, 64, 100, 333, 1023, 1024, 4096];
            let shapes = sizes.into_iter().flat_map(|size| [4, 6, size, 512, 1022].map(|n| [size, n, size]));
            for (shape, variant) in shapes.flat_map(|shape| STEP.variants.iter().map(move |variant| (shape, variant))) {
                let plan = STEP.plan_of(Some(variant))(&Problem::uniform(shape), &device).unwrap();
                // A product that is no work for tensor cores takes what is committed of the other kernel.
                let Specialisation { source, name, .. } = &plan.specialisation;
                let of = source.as_ref().map_or(variant, |source| STEP.variant(source).unwrap());
                let specialisation = Specialisation { source: None, ..plan.specialisation.clone() };
                assert!(STEP.committed_of(Some(of)).contains(&specialisation), "{}: {name}", of.name);
            }
        }
    }
}
