//! FP32 products on the tensor cores of compute capability 9.0, and the same kernel with one thing undone.

use anyhow::{Result, ensure};
use plan::{Defect, DeviceInfo, Dtype, Plan, Problem, Specialisation, Variant};

use step06_prefetch::STEP;

/// The kernel, beside step 6's.
pub const VARIANT: Variant = Variant {
    folder: "beyond",
    specialisations: Some(specialisations),
    ..Variant::same_launch("tensor_cores").planned(plan)
};
/// The counter-example whose sums stay in the tensor cores.
pub const LONG_SUMS: Variant = counter_example("long_sums");
/// One product of TF32 numbers in place of three.
pub const TF32: Variant = counter_example("tf32").with_defect(Defect::Rounding);

/// Columns and rows of C per block, and the depth of its tiles.
const TILE: [u32; 3] = [128, 64, 32];
/// Stages of tiles in shared memory, each with A twice and with B's rows 8 elements longer.
const SHARED_BYTES: u32 = 3 * 4 * TILE[2] * (2 * TILE[1] + TILE[0] + 8);
/// Columns of tiles that lie side by side in a band of the grid.
const BAND: u32 = 8;
/// Below this K a sum may have so few terms that decide it that their own roundings show: step 6 multiplies instead.
const SHORT: u64 = 1024;

fn specialisation(vector: u32) -> Specialisation {
    Specialisation::named(format!("v{vector}"), Dtype::F32, &[("VECTOR", vector)]).for_only(90)
}

/// Step 6's specialisation, for the kernel that includes step 6's.
fn short(mut specialisation: Specialisation) -> Specialisation {
    specialisation.name.insert_str(0, "short");
    specialisation.defines.push(("SHORT".to_owned(), "1".to_owned()));
    specialisation
}

fn specialisations(dtype: Dtype) -> Vec<Specialisation> {
    match dtype {
        Dtype::F32 => {
            [4, 1].map(specialisation).into_iter().chain((STEP.specialisations)(dtype).into_iter().map(short)).collect()
        }
        Dtype::I32 => vec![],
    }
}

/// The kernel with one thing undone, for any K, and committed for sizes that are multiples of 4.
const fn counter_example(name: &'static str) -> Variant {
    let specialisations = |dtype| if dtype == Dtype::F32 { vec![specialisation(4)] } else { vec![] };
    Variant {
        folder: "beyond/variants",
        specialisations: Some(specialisations),
        ..Variant::same_launch(name).planned(plan_long)
    }
}

fn plan(problem: &Problem, device: &DeviceInfo) -> Result<Plan> {
    if problem.k >= SHORT {
        return plan_long(problem, device);
    }
    check(problem, device)?;
    let mut plan = (STEP.plan)(problem, device)?;
    plan.specialisation = short(plan.specialisation);
    Ok(plan)
}

/// Whether tensor cores can multiply this here.
fn check(problem: &Problem, device: &DeviceInfo) -> Result<()> {
    ensure!(
        problem.dtype == Dtype::F32,
        "tensor cores multiply floating-point numbers only; choose --dtype f32, or leave --variant out"
    );
    let capability = device.compute_capability;
    ensure!(
        capability == 90,
        "this kernel needs wgmma, which only compute capability 9.0 (H100, H200) has, and this device has {}.{}; every other kernel of the course runs here",
        capability / 10,
        capability % 10
    );
    Ok(())
}

/// The plan that multiplies on tensor cores.
fn plan_long(problem: &Problem, device: &DeviceInfo) -> Result<Plan> {
    check(problem, device)?;
    let aligned = problem.n.is_multiple_of(4) && problem.k.is_multiple_of(4);
    let specialisation = specialisation(if aligned { 4 } else { 1 });
    let [tile_n, tile_m, tile_k] = TILE;
    Ok(Plan::tiled(problem, specialisation, [2 * tile_n, 1], [tile_n, tile_m])
        .with_tile_k(tile_k)
        .with_shared_bytes(SHARED_BYTES)
        .in_bands(BAND))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Fill;

    fn problem(m: u64, n: u64, k: u64, dtype: Dtype) -> Problem {
        Problem { m, n, k, dtype, fill: Fill::Uniform, seed: 1 }
    }

    #[test]
    fn only_devices_that_have_the_instructions_get_a_plan() {
        let sim = DeviceInfo::simulated(1 << 30);
        let plan_at = |capability| {
            let device = DeviceInfo { compute_capability: capability, ..sim.clone() };
            plan(&problem(64, 128, SHORT, Dtype::F32), &device).map_err(|error| error.to_string())
        };
        assert!(plan_at(90).is_ok());
        for (capability, name) in [(75, "7.5"), (89, "8.9"), (100, "10.0"), (120, "12.0")] {
            assert!(plan_at(capability).unwrap_err().contains(&format!("this device has {name};")));
        }
        assert!(plan(&problem(64, 128, SHORT, Dtype::I32), &sim).unwrap_err().to_string().contains("--dtype f32"));
    }

    #[test]
    fn the_form_suits_the_problem() {
        let sim = DeviceInfo::simulated(1 << 30);
        let form = |n, k| plan(&problem(500, n, k, Dtype::F32), &sim).unwrap().specialisation;
        for (n, k, name) in [
            (128, 1024, "v4"),
            (128, 1020, "short16x32v4"),
            (127, 1024, "v1"),
            (128, 1026, "v1"),
            (1, 1, "short16x32v1"),
        ] {
            assert_eq!(form(n, k).name, name);
            assert!(specialisations(Dtype::F32).contains(&form(n, k)));
        }
        // Blocks side by side on an SM: two of them fit into its shared memory.
        const { assert!(2 * (SHARED_BYTES + 1024) <= 228 * 1024) };
    }
}
