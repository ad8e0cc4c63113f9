//! The forms of a kernel on a page: its code for the sizes that the page can show, and smaller tiles.

use std::path::PathBuf;

use common::basics::workspace;
use common::code::Source;
use explorer::planner::{Planner, SmallerTile};
use plan::{Dtype, Problem, Specialisation};

use super::data::{Form, Kernel};

/// Sides of the products for which a page has code. A kernel that chooses its tile by the size may need other code at other sizes.
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

/// A tile for kernels whose own is too large to look at: its rows and columns, and constants that replace the kernel's.
type Smaller = ([u32; 2], &'static [(&'static str, u32)]);

/// For the kernels that have the first of these constants.
const SMALLER: [Smaller; 2] = [
    ([8, 8], &[("TILE", 8)]),
    ([16, 32], &[("TILE_M", 16), ("TILE_N", 32), ("TILE_K", TILE_K), ("THREAD_M", 4), ("THREAD_N", 4)]),
];
/// Steps of K in one pass of their main loops.
const TILE_K: u32 = 8;

/// The folder of the PTX with smaller tiles, which no step runs: committed for the page alone.
pub fn smaller_folder() -> PathBuf {
    workspace::root().join("common/explorer/ptx")
}

/// A form with a smaller tile, if the usual one is large: its specialisation, the file of its PTX, and the form without code.
pub fn smaller(kernel: &Kernel, usual: &Form, source: &Source) -> Option<(Specialisation, PathBuf, Form)> {
    let specialisation = usual.code.as_ref()?;
    // A product of an N that is no multiple of 4 takes any form.
    let plan = [[64, 64, 64], [64, 63, 64]].into_iter().find_map(|size| usual.plan(size, ""))?;
    let has = |name: &str| specialisation.defines.iter().any(|(known, _)| known == name);
    let is_large = plan.tile.iter().all(|&side| side >= 32);
    let ([rows, columns], constants) = SMALLER.into_iter().find(|(_, constants)| is_large && has(constants[0].0))?;
    let value = |name: &str| constants.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    let define = |(name, now): &(String, String)| {
        (name.clone(), value(name).map_or_else(|| now.clone(), |value| value.to_string()))
    };
    let defines: Vec<(String, String)> = specialisation.defines.iter().map(define).collect();
    // A thread computes one element, or as many as the constants say.
    let each: u32 = ["THREAD_M", "THREAD_N"].into_iter().filter(|name| has(name)).filter_map(value).product();
    let block = if each == 1 { [columns, rows] } else { [rows * columns / each, 1] };
    let tile = SmallerTile { tile: [columns, rows], tile_k: TILE_K, block, defines: defines.clone() };
    let name = format!("{}small{rows}x{columns}", usual.specialisation);
    let smaller = Specialisation { name, defines, ..specialisation.clone() };
    let file = smaller_folder().join(&kernel.step).join(source.committed_name(&smaller));
    // The form for any N and the one for multiples of 4 may have the same tile.
    let wide = if usual.specialisation.ends_with("v4") { " v4" } else { "" };
    let form = Form {
        id: format!("small {rows}x{columns}{wide}"),
        usual: false,
        planner: Planner { smaller: Some(tile), ..usual.planner.clone() },
        code: Some(smaller.clone()),
        ..usual.clone()
    };
    Some((smaller, file, form))
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
            let forms = all.iter().map(|one| smaller(&kernel, &form(&planner, one, String::new()), &source).is_some());
            forms.collect::<Vec<_>>()
        };
        assert_eq!(forms("step04_tiled"), [true]);
        assert_eq!(forms("step05_thread_tile"), [true, true]);
        assert_eq!(forms("step06_prefetch"), [false, false]);
    }
}
