//! Step 6: the next tiles are fetched while the current ones are multiplied.

mod every_shape;
mod tensor_cores;
mod tilings;
mod vector;

use plan::{DefaultSize, Step, Variant};

use tilings::{plan, plan_other, specialisations};

/// The step.
pub const STEP: Step = Step {
    name: env!("CARGO_PKG_NAME"),
    folder: "step06_prefetch",
    title: "fetch the next tiles while multiplying the current ones",
    plan,
    specialisations,
    variants: &[
        Variant::rung("1_two_buffers").planned(plan_other),
        Variant::rung("2_async_copies").planned(plan_other),
        Variant::same_launch("single_buffer").planned(plan_other),
        Variant::same_launch("vector_stores").planned(plan_other),
        tensor_cores::LONG_SUMS,
        tensor_cores::TF32,
        every_shape::VARIANT,
        tensor_cores::VARIANT,
    ],
    default_size: DefaultSize::cubes(4096, 256),
    host: None,
};

#[cfg(test)]
mod tests {
    use super::*;
    use plan::{DeviceInfo, Dtype, Fill, Kind, Problem};

    #[test]
    fn what_does_not_compile_takes_what_is_committed() {
        let gpu = DeviceInfo { kind: Kind::Cuda, ..DeviceInfo::simulated(1 << 30) };
        for (device, dtype) in
            [DeviceInfo::simulated(1 << 30), gpu].iter().flat_map(|device| [(device, Dtype::F32), (device, Dtype::I32)])
        {
            for size in [1, 63, 64, 100, 333, 1023, 1024, 4095, 4096] {
                let problem = Problem { m: size, n: size, k: size, dtype, fill: Fill::Uniform, seed: 1 };
                let specialisation = plan(&problem, device).unwrap().specialisation;
                assert!(specialisations(dtype).contains(&specialisation), "{}", specialisation.name);
                for variant in STEP.variants.iter().filter(|_| dtype == Dtype::F32 && size % 4 == 0) {
                    let specialisation = STEP.plan_of(Some(variant))(&problem, device).unwrap().specialisation;
                    assert!(STEP.committed_of(Some(variant)).contains(&specialisation), "{}", specialisation.name);
                }
            }
        }
    }
}
