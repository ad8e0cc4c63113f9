//! The forms of a kernel on a page: what it is compiled to for the products that the page can show, and smaller tiles.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use common::basics::workspace;
use common::code::Source;
use explorer::planner::{Planner, SmallerTile};
use plan::{Dtype, Problem, Specialisation};

use super::data::{Form, Kernel};

/// Sides of the products whose code a page carries: a kernel that chooses among tiles by the size may take others at others.
const SIDES: [u64; 5] = [64, 48, 33, 32, 16];

/// The specialisations that a planner takes for these products, the one for the largest first.
pub fn specialisations(planner: &Planner, dtype: Dtype, text: &str) -> Vec<Specialisation> {
    let mut found: Vec<Specialisation> = vec![];
    for size in SIDES.iter().flat_map(|&m| SIDES.iter().flat_map(move |&n| SIDES.map(|k| [m, n, k]))) {
        let plan = planner.plan(&Problem { dtype, ..Problem::uniform(size) }, text);
        found.extend(plan.ok().map(|plan| plan.specialisation).filter(|one| !found.contains(one)));
    }
    found
}

/// The form of a specialisation.
pub fn form(planner: &Planner, specialisation: &Specialisation, ptx: String) -> Form {
    let name = &specialisation.name;
    Form {
        id: if name.is_empty() { "usual".into() } else { name.clone() },
        specialisation: name.clone(),
        dtype: specialisation.dtype,
        ptx,
        usual: true,
        planner: planner.clone(),
        code: Some(specialisation.clone()),
    }
}

/// Smaller tiles for a kernel whose tile is too large to be looked at: constants to try in its place, each list for the kernels that
/// have its first constant.
const SMALLER: [&[(&str, u32)]; 4] = [
    &[("TILE", 8)],
    &[("TILE_M", 16), ("TILE_N", 32), ("TILE_K", 8), ("THREAD_M", 4), ("THREAD_N", 4)],
    &[("TILE_M", 32), ("TILE_N", 32), ("TILE_K", 16), ("THREAD_M", 4), ("THREAD_N", 4)],
    &[("TILE_M", 32), ("TILE_N", 64), ("TILE_K", 16), ("THREAD_M", 4), ("THREAD_N", 4)],
];

/// The constant for a side of a tile: a square one has the same for all three.
fn side(of: impl Fn(&str) -> Option<String>, name: &str) -> Option<String> {
    of(name).or_else(|| of("TILE"))
}

/// The folder of the PTX with smaller tiles, which no step runs: committed for the page alone.
pub fn smaller_folder() -> PathBuf {
    workspace::root().join("common/explorer/ptx")
}

/// Specialisations with smaller tiles to try, the first choice first, if the form's own is large: each with the file of its PTX.
pub fn smaller(kernel: &Kernel, form: &Form, source: &Source) -> Vec<(Specialisation, PathBuf)> {
    let Some(specialisation) = &form.code else { return vec![] };
    // A product of an N that is no multiple of 4 takes any form.
    let plan = [[64, 64, 64], [64, 63, 64]].into_iter().find_map(|size| form.plan(size, ""));
    if plan.is_none_or(|plan| plan.tile.iter().any(|&side| side < 32)) {
        return vec![];
    }
    let smaller = |constants: &[(&str, u32)]| {
        let value = |name: &str| constants.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string());
        let defines =
            specialisation.defines.iter().map(|(name, now)| (name.clone(), value(name).unwrap_or_else(|| now.clone())));
        let of = |name: &str| side(value, name).unwrap_or_default();
        let name = format!("small {}x{}", of("TILE_M"), of("TILE_N"));
        let smaller = Specialisation { name, defines: defines.collect(), ..specialisation.clone() };
        let of_file = format!("{}{}", form.specialisation, smaller.name.replace(' ', ""));
        let file = source.committed_name(&Specialisation { name: of_file, ..smaller.clone() });
        (smaller, smaller_folder().join(&kernel.step).join(file))
    };
    let has = |(constant, _): &(&str, u32)| specialisation.defines.iter().any(|(name, _)| name == constant);
    SMALLER.iter().filter(|constants| has(&constants[0])).map(|constants| smaller(constants)).collect()
}

/// The form of such a specialisation, from its PTX: the threads of a block are those for which it was compiled, or one for each
/// element of the tile.
pub fn smaller_form(smaller: &Specialisation, usual: &Form, ptx: &str) -> Result<Form> {
    let value = |wanted: &str| {
        let of = |name: &str| smaller.defines.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        let found = side(of, wanted).and_then(|value| value.parse::<u32>().ok());
        found.with_context(|| format!("the kernel has no constant {wanted}"))
    };
    let kernel = simt::Module::parse(ptx)?.kernel("matmul")?;
    let tile = [value("TILE_N")?, value("TILE_M")?];
    let block = kernel.max_threads().map_or(tile, |threads| [threads.iter().product::<u32>(), 1]);
    let tile = SmallerTile { tile, tile_k: value("TILE_K")?, block, defines: smaller.defines.clone() };
    let planner = Planner { smaller: Some(tile), ..usual.planner.clone() };
    // The form for any N and the one for multiples of 4 may have the same tile.
    let wide = if usual.specialisation.ends_with("v4") { " v4" } else { "" };
    let form = Form {
        id: format!("{}{wide}", smaller.name),
        usual: false,
        ptx: ptx.to_owned(),
        planner,
        code: Some(smaller.clone()),
        ..usual.clone()
    };
    ensure!(
        form.plan([64, 64, 64], "").or(form.plan([64, 63, 64], "")).is_some(),
        "the smaller tile cannot be launched"
    );
    Ok(form)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(step: &str, variant: Option<&str>) -> Planner {
        Planner { step: Some(step.into()), variant: variant.map(str::to_owned), ..Planner::default() }
    }

    #[test]
    fn a_page_carries_what_its_products_take() {
        let names = |planner: &Planner, dtype| -> Vec<String> {
            specialisations(planner, dtype, "").into_iter().map(|one| one.name).collect()
        };
        assert_eq!(names(&of("step05_thread_tile", None), Dtype::F32), ["v4", "v1"]);
        assert_eq!(names(&of("step05_thread_tile", None), Dtype::I32), ["v1"]);
        assert_eq!(names(&of("step04_tiled", Some("1_multiples")), Dtype::F32), [""]);
        assert_eq!(names(&of("step06_prefetch", None), Dtype::F32), ["16x32v4", "16x32v1"]);
    }

    #[test]
    fn a_large_tile_has_smaller_ones() {
        let forms = |step: &str| {
            let (planner, kernel) = (of(step, None), Kernel::default());
            let source = Source::read(&workspace::root().join(step).join("kernel.cu")).unwrap();
            let all = specialisations(&planner, Dtype::F32, "");
            let forms = all.iter().map(|one| smaller(&kernel, &form(&planner, one, String::new()), &source).len());
            forms.collect::<Vec<_>>()
        };
        assert_eq!(forms("step04_tiled"), [1]);
        assert_eq!(forms("step05_thread_tile"), [3, 3]);
        assert_eq!(forms("step06_prefetch"), [0, 0]);
    }
}
