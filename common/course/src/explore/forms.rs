//! The forms of a kernel, found by asking for its plans: which specialisation is launched how at which sizes, as a rule where one
//! holds.

use anyhow::{Context, Result, ensure};
use common::{Dtype, Fill, Plan, Problem, Specialisation};
use explorer::plan::{Amount, Argument, Inputs, Rule, Shared, Side, Work};

use super::data::Form;

/// A size, as M, N, K.
pub type Size = [u32; 3];

/// The sizes at which plans are asked for: small and large ones, multiples of the tiles and others.
const SIDES: [u32; 13] = [1, 3, 7, 8, 16, 20, 31, 32, 33, 48, 60, 63, 64];

/// The sizes that are packed of a kernel whose launches follow no rule.
const PACKED: [Size; 8] =
    [[64, 64, 64], [64, 64, 32], [32, 32, 64], [16, 64, 64], [64, 16, 64], [32, 32, 32], [48, 40, 33], [33, 47, 20]];

/// What a kernel's plans are, for the problems that are asked about.
pub type Plans<'a> = &'a dyn Fn(&[Problem]) -> Result<Vec<Result<Plan, String>>>;

/// A plan of a size.
struct Planned {
    size: Size,
    specialisation: Specialisation,
    work: Work,
}

/// A problem of that size.
pub fn problem([m, n, k]: Size, dtype: Dtype) -> Problem {
    let [m, n, k] = [m, n, k].map(u64::from);
    Problem { m, n, k, dtype, fill: Fill::Integers, seed: 1 }
}

/// The launches of a plan as the explorer has them.
pub fn work(plan: &Plan) -> Result<Work> {
    let text = serde_json::to_string(plan)?;
    serde_json::from_str(&text)
        .context("the explorer reads plans in another way; change explorer::plan with plan::plan")
}

fn probes() -> Vec<Size> {
    let mut sizes = vec![];
    // Each side changes by itself, and with the others.
    for &side in &SIDES {
        sizes.extend([
            [side; 3],
            [side, 64, 64],
            [64, side, 64],
            [64, 64, side],
            [side, 32, 32],
            [32, side, 32],
            [32, 32, side],
        ]);
    }
    sizes.extend([[33, 20, 7], [7, 60, 33], [20, 33, 64], [31, 8, 48]]);
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// The forms of a kernel for one element type. `usable` says whether there is code for a specialisation.
pub fn forms(
    plans: Plans<'_>,
    dtype: Dtype,
    usable: &dyn Fn(&Specialisation) -> bool,
) -> Result<Vec<(Specialisation, Form)>> {
    let sizes = probes();
    let problems: Vec<Problem> = sizes.iter().map(|&size| problem(size, dtype)).collect();
    let mut all = vec![];
    for (&size, plan) in sizes.iter().zip(plans(&problems)?) {
        let Ok(plan) = plan else { continue };
        if usable(&plan.specialisation) {
            all.push(Planned { size, work: work(&plan)?, specialisation: plan.specialisation });
        }
    }
    let mut forms: Vec<(Specialisation, Form)> = vec![];
    let mut by_rule = true;
    for planned in &all {
        if forms.iter().any(|(known, _)| *known == planned.specialisation) {
            continue;
        }
        let same: Vec<&Planned> = all.iter().filter(|other| other.specialisation == planned.specialisation).collect();
        let Some(rule) = rule(&same) else {
            by_rule = false;
            break;
        };
        forms.push((planned.specialisation.clone(), form(&planned.specialisation, dtype, Some(rule))));
    }
    // The form with the narrowest condition comes first: it is the one that the plan takes where it fits.
    forms.sort_by_key(|(_, form)| std::cmp::Reverse(form.when.values().product::<u32>()));
    let holds = |planned: &Planned| {
        let first = forms.iter().find(|(_, form)| form.plan.work(planned.size).is_ok());
        first.is_some_and(|(known, form)| {
            *known == planned.specialisation && form.plan.work(planned.size).as_ref() == Ok(&planned.work)
        })
    };
    let mut forms = if by_rule && all.iter().all(holds) { forms } else { packed(plans, dtype, usable)? };
    let long = for_long_sums(plans, dtype, usable)?;
    let long = long.filter(|(specialisation, _)| forms.iter().all(|(known, _)| known != specialisation));
    forms.extend(long);
    Ok(forms)
}

/// A size whose sums are so long that a kernel on tensor cores uses them, and how long they are on the page: all tiles are alike.
const LONG: Size = [64, 128, 1024];
const SHORTENED: u32 = 64;

/// The form that a kernel on tensor cores takes for long sums only, with shorter ones; none of another kernel.
fn for_long_sums(
    plans: Plans<'_>,
    dtype: Dtype,
    usable: &dyn Fn(&Specialisation) -> bool,
) -> Result<Option<(Specialisation, Form)>> {
    let Some(Ok(plan)) = plans(&[problem(LONG, dtype)])?.into_iter().next() else { return Ok(None) };
    if !plan.specialisation.only || !usable(&plan.specialisation) {
        return Ok(None);
    }
    let [m, n, k] = LONG;
    let mut work = work(&plan)?;
    for argument in work.launches.iter_mut().flat_map(|launch| &mut launch.args) {
        if *argument == Argument::Int(k as i32) {
            *argument = Argument::Int(SHORTENED as i32);
        }
    }
    let mut form = Form { usual: false, ..form(&plan.specialisation, dtype, None) };
    form.plan.sizes = Some(vec![[m, n, SHORTENED]]);
    form.plan.works = vec![work];
    Ok(Some((plan.specialisation, form)))
}

/// The forms as lists of sizes.
fn packed(
    plans: Plans<'_>,
    dtype: Dtype,
    usable: &dyn Fn(&Specialisation) -> bool,
) -> Result<Vec<(Specialisation, Form)>> {
    let problems: Vec<Problem> = PACKED.iter().map(|&size| problem(size, dtype)).collect();
    let mut forms: Vec<(Specialisation, Form)> = vec![];
    for (size, plan) in PACKED.into_iter().zip(plans(&problems)?) {
        let Ok(plan) = plan else { continue };
        if !usable(&plan.specialisation) {
            continue;
        }
        let work = work(&plan)?;
        let known = forms.iter().position(|(known, _)| *known == plan.specialisation);
        let at = known.unwrap_or_else(|| {
            forms.push((plan.specialisation.clone(), form(&plan.specialisation, dtype, None)));
            forms.len() - 1
        });
        let plan = &mut forms[at].1.plan;
        plan.sizes.get_or_insert_default().push(size);
        plan.works.push(work);
    }
    Ok(forms)
}

/// A form without its PTX.
fn form(specialisation: &Specialisation, dtype: Dtype, rule: Option<Rule>) -> Form {
    let sides = ["M", "N", "K"].into_iter().zip(rule.as_ref().map_or([1; 3], |rule| rule.multiples));
    let when = sides.filter(|&(_, multiple)| multiple > 1).map(|(side, multiple)| (side.to_owned(), multiple));
    Form {
        id: if specialisation.name.is_empty() { "usual".into() } else { specialisation.name.clone() },
        dtype: dtype.to_string(),
        ptx: String::new(),
        usual: true,
        when: when.collect(),
        plan: explorer::plan::Plan { defines: specialisation.defines.clone(), rule, ..explorer::plan::Plan::default() },
    }
}

/// What a number is at all sizes: itself, or one of the sizes.
fn amount(all: &[&Planned], of: impl Fn(&Planned) -> u32) -> Option<Amount> {
    let first = Amount::Fixed(of(all.first()?));
    let sides = [(Side::M, 0), (Side::N, 1), (Side::K, 2)];
    let fixed = all.iter().all(|planned| Amount::Fixed(of(planned)) == first).then_some(first);
    fixed.or_else(|| {
        let is_side = |&(_, at): &(Side, usize)| all.iter().all(|planned| of(planned) == planned.size[at]);
        sides.into_iter().find(is_side).map(|(side, _)| Amount::Size(side))
    })
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// The rule that gives all of these plans, if there is one.
fn rule(all: &[&Planned]) -> Option<Rule> {
    if all.iter().any(|planned| planned.work.launches.len() != 1) {
        return None;
    }
    let launch = |planned: &Planned| planned.work.launches[0].clone();
    let tile = [amount(all, |planned| planned.work.tile[0])?, amount(all, |planned| planned.work.tile[1])?];
    let block = [amount(all, |planned| launch(planned).block[0])?, amount(all, |planned| launch(planned).block[1])?];
    let bytes = |planned: &&Planned| launch(planned).shared_bytes;
    let inputs = |planned: &&Planned| {
        let [m, n, k] = planned.size;
        bytes(planned) == 4 * (m * k + k * n)
    };
    let shared = match all.first().map(bytes)? {
        first if all.iter().all(|planned| bytes(planned) == first) => Shared::Bytes(first),
        _ if all.iter().all(inputs) => Shared::Inputs(Inputs::Inputs),
        _ => return None,
    };
    let multiples = [0, 1, 2].map(|side| {
        let common = all.iter().fold(0, |common, planned| greatest_common_divisor(common, planned.size[side]));
        // Sizes of 64 alone do not say that smaller ones would not do.
        if all.iter().all(|planned| planned.size[side] == common) { 1 } else { common }
    });
    let rule = Rule { tile, tile_k: amount(all, |planned| planned.work.tile_k)?, block, shared, multiples };
    all.iter().all(|planned| rule.work(planned.size) == planned.work).then_some(rule)
}

/// Smaller tiles for a kernel whose tile would be all of a small C: constants to try in its place.
const SMALLER: [[(&str, u32); 5]; 3] = [
    [("TILE_M", 16), ("TILE_N", 32), ("TILE_K", 8), ("THREAD_M", 4), ("THREAD_N", 4)],
    [("TILE_M", 32), ("TILE_N", 32), ("TILE_K", 16), ("THREAD_M", 4), ("THREAD_N", 4)],
    [("TILE_M", 32), ("TILE_N", 64), ("TILE_K", 16), ("THREAD_M", 4), ("THREAD_N", 4)],
];

/// Specialisations with smaller tiles, if the form computes a C of 64×64 in one block. They are yet to be tried.
pub fn smaller(specialisation: &Specialisation, form: &Form) -> Vec<Specialisation> {
    let Some(rule) = &form.plan.rule else { return vec![] };
    let [Amount::Fixed(columns), Amount::Fixed(rows)] = rule.tile else { return vec![] };
    if columns < 64 || rows < 64 {
        return vec![];
    }
    let smaller = |constants: &[(&str, u32)]| {
        let value = |name: &str| constants.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string());
        let defines =
            specialisation.defines.iter().map(|(name, now)| (name.clone(), value(name).unwrap_or_else(|| now.clone())));
        let of = |name: &str| value(name).unwrap_or_default();
        let name = format!("small {}x{}", of("TILE_M"), of("TILE_N"));
        Specialisation { name, defines: defines.collect(), ..specialisation.clone() }
    };
    SMALLER.iter().map(|constants| smaller(constants)).collect()
}

/// The form of such a specialisation, from its PTX: the threads of a block are those for which it was compiled.
pub fn smaller_form(specialisation: &Specialisation, usual: &Form, ptx: &str) -> Result<Form> {
    let value = |wanted: &str| {
        let found = specialisation.defines.iter().find(|(name, _)| name == wanted);
        found
            .and_then(|(_, value)| value.parse::<u32>().ok())
            .with_context(|| format!("the kernel has no constant {wanted}"))
    };
    let kernel = simt::Module::parse(ptx)?.kernel("matmul")?;
    let threads = kernel.max_threads().map(|threads| threads.iter().product::<u32>());
    let threads = threads.context("the kernel does not say for how many threads it is compiled (__launch_bounds__)")?;
    let mut form = Form { usual: false, ..form(specialisation, Dtype::F32, usual.plan.rule.clone()) };
    form.dtype.clone_from(&usual.dtype);
    form.when.clone_from(&usual.when);
    if let Some(rule) = &mut form.plan.rule {
        rule.tile = [Amount::Fixed(value("TILE_N")?), Amount::Fixed(value("TILE_M")?)];
        rule.tile_k = Amount::Fixed(value("TILE_K")?);
        rule.block = [Amount::Fixed(threads), Amount::Fixed(1)];
    }
    ptx.clone_into(&mut form.ptx);
    ensure!(form.plan.work([64, 64, 64]).is_ok(), "the smaller tile cannot be launched");
    Ok(form)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn planned(rule: impl Fn(&Problem) -> Result<Plan, String>) -> Vec<(Specialisation, Form)> {
        let plans = |problems: &[Problem]| Ok(problems.iter().map(&rule).collect());
        forms(&plans, Dtype::F32, &|_| true).unwrap()
    }

    #[test]
    fn a_rule_is_found_in_the_plans() {
        let found = planned(|problem| {
            let vector = if problem.n.is_multiple_of(4) { 4 } else { 1 };
            let specialisation = Specialisation::named(format!("v{vector}"), Dtype::F32, &[("VECTOR", vector)]);
            Ok(Plan::tiled(problem, specialisation, [128, 1], [128, 64]).with_tile_k(16))
        });
        let names: Vec<_> = found.iter().map(|(_, form)| (form.id.as_str(), form.when.get("N").copied())).collect();
        assert_eq!(names, [("v4", Some(4)), ("v1", None)]);
        assert!(found.iter().all(|(_, form)| form.plan.rule.is_some()));
    }

    #[test]
    fn what_is_refused_is_refused_by_the_rule() {
        let found = planned(|problem| {
            if [problem.m, problem.n, problem.k].iter().any(|side| !side.is_multiple_of(32)) {
                return Err("multiples of 32 only".into());
            }
            Ok(Plan::tiled(problem, Specialisation::single(Dtype::F32, &[]), [32, 32], [32, 32]))
        });
        assert_eq!(found[0].1.when, BTreeMap::from(["K", "M", "N"].map(|side| (side.to_owned(), 32))));
        assert!(found[0].1.plan.work([64, 33, 64]).is_err());
    }

    #[test]
    fn without_a_rule_there_is_a_list() {
        let found = planned(|problem| {
            let plan = Plan::tiled(problem, Specialisation::single(Dtype::F32, &[]), [32, 1], [32, 16]);
            Ok(plan.in_slices(problem, 1 + problem.k / 32))
        });
        let plan = &found[0].1.plan;
        assert!(plan.rule.is_none() && plan.sizes.as_ref().unwrap().len() == PACKED.len());
        assert_eq!(plan.work([64, 64, 64]).unwrap().launches.len(), 2);
    }
}
