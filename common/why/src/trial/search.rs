//! Which edit makes a wrong kernel right: proposed, compiled, run, and the best of those that work.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::{Duration, Instant};

use plan::{Plan, Problem, Specialisation};
use rayon::prelude::*;
use simt::Module;

use super::edges::{self, Parameters};
use super::edit::{Change, Edit, LaunchEdit, Proposals, Repair};
use super::lexer::Tokens;
use super::names::Names;
use super::outline::Outline;
use super::run::{Outcome, Size};
use super::{places, signs, unit, words};

/// A launch that is tried in place of the user's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launched {
    /// Threads of a block in x and y.
    pub block: [u32; 2],
    /// Columns and rows of C that a block computes.
    pub tile: [u32; 2],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
}

/// What a search asks of the program that it is part of.
pub trait Bench: Sync {
    /// How the kernel is launched for a problem; none if it is not. With a launch, that one in place of the user's.
    fn plan(&self, problem: &Problem, launch: Option<Launched>) -> Option<Plan>;

    /// PTX of a source, or the compiler's whole log. `debug` asks for code that is not optimised, with all lines.
    fn compile(&self, source: &str, specialisation: &Specialisation, debug: bool) -> Result<String, String>;

    /// The launch that the user has chosen and may choose in another way.
    fn launched(&self) -> Option<Launched>;
}

/// A wrong kernel.
pub struct Search<'a> {
    /// Its source, CUDA C.
    pub text: &'a str,
    /// The problem that the user ran.
    pub problem: Problem,
    /// The program's part.
    pub bench: &'a dyn Bench,
    /// Seconds after which no more edits are tried.
    pub seconds: u64,
}

/// What a search has found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The size at which the kernel was seen to be wrong: the smallest of those that were tried.
    pub size: [u64; 3],
    /// The sizes at which the repair is right.
    pub right_at: Vec<[u64; 3]>,
    /// What makes it right, if anything that was tried does.
    pub repair: Option<Repair>,
    /// What the repair does, in a few words.
    pub what: String,
    /// Lines at which an edit makes more elements right, the best first.
    pub lines: Vec<usize>,
    /// How many edits were tried.
    pub tried: usize,
}

/// Edits that are tried in one source.
const AT_ONCE: usize = 40;
/// Seconds that one kernel takes the compiler at most, if so many are compiled together.
const SLOW: u64 = 3;
/// Tokens of the longest source that is edited.
const LONGEST: usize = 6000;
/// At most so many edits are tried, and for so long.
const MOST: usize = 800;
/// Pairs of edits that are tried if no single one works, and how many first ones.
const MOST_PAIRS: usize = 300;
const BEST_PARTS: usize = 2;
/// So many more are tried if one works.
const BESIDE: usize = 120;
/// Multiply-adds of a size at which all of these are tried, and of the largest one.
const LIGHT: u64 = 1 << 18;
const MOST_WORK: u64 = 4 << 20;

/// All edits of a source that are tried, the likeliest first.
pub fn proposals(text: &str, constants: &[String], main: Option<&plan::Launch>) -> Vec<Edit> {
    let tokens = Tokens::read(text);
    let (names, outline) = (Names::read(&tokens, constants), Outline::read(&tokens));
    let mut out = Proposals::default();
    words::propose(&tokens, &names, &mut out);
    signs::propose(&tokens, &names, &outline, &mut out);
    places::propose(&tokens, &names, &outline, &mut out);
    if let Some(parameters) = main.and_then(|main| Parameters::read(&tokens, &main.entry, &main.args)) {
        edges::propose(&tokens, &names, &outline, &parameters, &mut out);
    }
    for edit in words::along_a_line(&tokens, &out.edits) {
        out.add(edit.changes, edit.tier, edit.cost, edit.what);
    }
    // The same replacement at two places of the source.
    let mut same: BTreeMap<&str, Vec<&Edit>> = BTreeMap::new();
    for edit in out.edits.iter().filter(|edit| edit.tier == 1 && edit.changes.len() == 1) {
        same.entry(&edit.what).or_default().push(edit);
    }
    let mut pairs = vec![];
    for edits in same.into_values().filter(|edits| (2..8).contains(&edits.len())) {
        for (at, one) in edits.iter().enumerate() {
            pairs.extend(edits[at + 1..].iter().filter_map(|other| one.with(other)));
        }
        if edits.len() > 2 {
            pairs.extend(
                edits[1..]
                    .iter()
                    .try_fold(edits[0].clone(), |all, edit| all.with(edit))
                    .map(|all| Edit { tier: 2, ..all }),
            );
        }
    }
    for edit in pairs {
        out.add(edit.changes, 2, edit.cost, edit.what);
    }
    let mut edits = out.edits;
    edits.retain(|edit| edit.changes.iter().any(|it| text[it.from..it.to] != it.new));
    edits.sort_by_key(|edit| (edit.tier, edit.cost));
    edits
}

impl Search<'_> {
    /// Looks for it; none if the kernel cannot be shown to be wrong here.
    pub fn find(&self) -> Option<Found> {
        let begun = Instant::now();
        let tokens = Tokens::read(self.text);
        if tokens.all.len() > LONGEST {
            return None;
        }
        let own = self.bench.plan(&self.problem, None)?;
        let entries = self.entries(&own);
        let base = self.compiled(&[(0, self.text)], &entries, &own.specialisation, true).pop()?.1?;
        // What takes the compiler long is not put together with many others.
        let at_once = if begun.elapsed() < Duration::from_secs(SLOW) { AT_ONCE } else { 2 };
        let deadline = begun + Duration::from_secs(self.seconds);
        let sizes = self.sizes(&own);
        // The smallest size that is wrong, by itself or by a hazard.
        let is_wrong = |size: &&Size| {
            !size.run(&base, 0, &size.plan, false).is_right() || !size.run(&base, 0, &size.plan, true).is_right()
        };
        let small = sizes.class.iter().find(is_wrong)?;
        let before = small.run(&base, 0, &small.plan, false);
        let by_hazard = before.is_right();
        let specialisation = &own.specialisation;
        let asked = Asked { entries: &entries, specialisation, small, sizes: &sizes, by_hazard, deadline };
        let mut found = Found { size: small.name(), ..Found::default() };
        if let Some((launch, right_at)) = self.launches(&sizes, &base) {
            return Some(Found { repair: Some(Repair { edits: vec![], launch: Some(launch) }), right_at, ..found });
        }
        let constants: Vec<String> = own.specialisation.defines.iter().map(|(name, _)| name.clone()).collect();
        let mut edits = proposals(self.text, &constants, own.main());
        let mut works: Vec<usize> = vec![];
        // Edits that make more elements right, with how many stay wrong.
        let mut parts: Vec<(u64, usize)> = vec![];
        let mut combined = false;
        let mut scores: BTreeMap<usize, f64> = BTreeMap::new();
        let workers = rayon::current_num_threads().max(1);
        // A size at which an edit takes long allows fewer of them.
        let most = MOST / (small.cost() / LIGHT + 1) as usize;
        let mut end = most.min(edits.len());
        let mut at = 0;
        while Instant::now() < deadline {
            if at >= end {
                if combined || !works.is_empty() || parts.is_empty() {
                    break;
                }
                // Two mistakes: what helps a little, with each of the likeliest edits.
                combined = true;
                parts.sort_unstable();
                let likely: Vec<Edit> = edits.iter().take_while(|edit| edit.tier == 1).cloned().collect();
                let pairs = parts.iter().take(BEST_PARTS).flat_map(|&(_, part)| {
                    let part = &edits[part];
                    likely.iter().filter_map(|edit| part.with(edit)).collect::<Vec<_>>()
                });
                let pairs: Vec<Edit> = pairs.collect();
                edits.truncate(end);
                edits.extend(pairs);
                end = edits.len().min(at + MOST_PAIRS);
                continue;
            }
            let wave = at..(at + at_once * workers).min(end);
            let numbers: Vec<usize> = wave.clone().collect();
            let tried: Vec<(usize, Outcome, bool)> =
                numbers.par_chunks(at_once).flat_map_iter(|numbers| self.tried(numbers, &edits, &asked)).collect();
            for (number, outcome, right) in tried {
                if right {
                    works.push(number);
                }
                if !outcome.broken && outcome.wrong < before.wrong {
                    parts.push((outcome.wrong, number));
                    let gain = (before.wrong - outcome.wrong) as f64 / before.wrong as f64;
                    for line in edits[number].lines(self.text) {
                        let score = scores.entry(line.line).or_default();
                        *score = score.max(gain);
                    }
                }
            }
            at = wave.end;
            if let Some(&best) = works.first() {
                end = end.min(best + BESIDE).max(at);
            }
        }
        found.tried = at;
        let mut ranked: Vec<(usize, f64)> = scores.into_iter().collect();
        ranked.sort_by(|one, other| other.1.total_cmp(&one.1));
        found.lines = ranked.into_iter().map(|(line, _)| line).collect();
        works.sort_unstable();
        if let Some((number, right_at)) = self.best(&works, &edits, &entries, &own.specialisation, &sizes) {
            let lines = edits[number].lines(self.text);
            found.lines = lines.iter().map(|line| line.line).collect();
            found.what.clone_from(&edits[number].what);
            found.repair = Some(Repair { edits: lines, launch: None });
            found.right_at = right_at;
        }
        Some(found)
    }

    /// The sizes that are like the user's, the smallest first; the last one is his own, unless it is too large.
    pub fn similar(&self) -> Vec<[u64; 3]> {
        let own = self.bench.plan(&self.problem, None);
        own.map_or(vec![], |own| self.sizes(&own).class.iter().map(Size::name).collect())
    }

    /// Whether the kernel can be shown to be wrong here.
    pub fn find_wrong(&self) -> bool {
        let wrong = || {
            let own = self.bench.plan(&self.problem, None)?;
            let base = self.compiled(&[(0, self.text)], &self.entries(&own), &own.specialisation, false).pop()?.1?;
            let user = self.size([self.problem.m, self.problem.n, self.problem.k], self.problem.seed, &own)?;
            Some(!user.run(&base, 0, &user.plan, true).is_right())
        };
        wrong() == Some(true)
    }

    fn entries(&self, plan: &Plan) -> BTreeSet<String> {
        let mut entries = unit::entries(&Tokens::read(self.text));
        entries.extend(plan.launches.iter().map(|launch| launch.entry.clone()));
        entries
    }

    /// The modules of these kernels: those that do not compile have none.
    fn compiled(
        &self,
        texts: &[(usize, &str)],
        entries: &BTreeSet<String>,
        specialisation: &Specialisation,
        debug: bool,
    ) -> Vec<(usize, Option<Module>)> {
        let mut left = texts.to_vec();
        for _ in 0..4 {
            if left.is_empty() {
                break;
            }
            match self.bench.compile(&unit::cuda(&left, entries), specialisation, debug) {
                Ok(ptx) => {
                    let module = Module::parse(&ptx).ok();
                    let has = |number: usize| left.iter().any(|(known, _)| *known == number);
                    return texts
                        .iter()
                        .map(|(number, _)| (*number, module.clone().filter(|_| has(*number))))
                        .collect();
                }
                Err(log) => {
                    let refused = unit::refused(&log);
                    let before = left.len();
                    left.retain(|(number, _)| !refused.contains(number));
                    if left.len() == before {
                        break;
                    }
                }
            }
        }
        texts.iter().map(|(number, _)| (*number, None)).collect()
    }

    /// Tries edits at the smallest size, and those that are right there at all others.
    fn tried(&self, numbers: &[usize], edits: &[Edit], asked: &Asked) -> Vec<(usize, Outcome, bool)> {
        let &Asked { entries, specialisation, small, sizes, by_hazard, deadline } = asked;
        let texts: Vec<(usize, String)> =
            numbers.iter().filter_map(|&number| Some((number, edits[number].apply(self.text)?))).collect();
        let texts: Vec<(usize, &str)> = texts.iter().map(|(number, text)| (*number, text.as_str())).collect();
        let modules = self.compiled(&texts, entries, specialisation, true);
        let broken = Outcome { wrong: u64::MAX, hazards: 0, broken: true };
        let judge = |(number, module): (usize, Option<Module>)| {
            let module = module.filter(|_| Instant::now() < deadline);
            let Some(module) = module else { return (number, broken, false) };
            let outcome = small.run(&module, number, &small.plan, false);
            let hazards = |size: &Size| size.run(&module, number, &size.plan, true).is_right();
            let right = outcome.is_right()
                && (!by_hazard || hazards(small))
                && sizes.class.iter().all(|size| size.run(&module, number, &size.plan, false).is_right())
                && sizes.class.iter().take(2).all(hazards);
            (number, outcome, right)
        };
        modules.into_iter().map(judge).collect()
    }

    /// The best of the edits that work: compiled as the user's kernel is, right at all sizes, and without hazards.
    fn best(
        &self,
        works: &[usize],
        edits: &[Edit],
        entries: &BTreeSet<String>,
        specialisation: &Specialisation,
        sizes: &Sizes,
    ) -> Option<(usize, Vec<[u64; 3]>)> {
        let texts: Vec<(usize, String)> =
            works.iter().take(24).filter_map(|&number| Some((number, edits[number].apply(self.text)?))).collect();
        let texts: Vec<(usize, &str)> = texts.iter().map(|(number, text)| (*number, text.as_str())).collect();
        let modules = self.compiled(&texts, entries, specialisation, false);
        let right = |(number, module): (usize, Option<Module>)| {
            let module = module?;
            let is_right = |size: &&Size| size.run(&module, number, &size.plan, true).is_right();
            let all = sizes.class.iter().chain(&sizes.hidden).all(|size| is_right(&size));
            let others = sizes.others.iter().filter(is_right).count();
            all.then_some((number, others))
        };
        let right: Vec<(usize, usize)> = modules.into_par_iter().filter_map(right).collect();
        let tokens = Tokens::read(self.text);
        // A condition that is never true any more may only leave out what is wrong.
        let conditions: Vec<Range<usize>> =
            Outline::read(&tokens).conditions.iter().map(|&(first, last)| tokens.span(first, last)).collect();
        let of_condition = |edit: &Edit| {
            let is_in = |change: &Change| conditions.iter().any(|of| of.start <= change.from && change.to <= of.end);
            u32::from(edit.changes.iter().any(is_in))
        };
        let key = |&&(number, others): &&(usize, usize)| {
            let edit = &edits[number];
            let near = std::cmp::Reverse(closeness(&tokens, edit));
            (sizes.others.len() - others, edit.cost + of_condition(edit), edit.tier, near, number)
        };
        let &(number, _) = right.iter().min_by_key(key)?;
        Some((number, sizes.names()))
    }

    /// Another launch with which the kernel is right as it is.
    fn launches(&self, sizes: &Sizes, base: &Module) -> Option<(LaunchEdit, Vec<[u64; 3]>)> {
        let own = self.bench.launched()?;
        let Launched { block: [bx, by], tile: [tx, ty], shared } = own;
        let threads = bx * by;
        let blocks =
            [[bx, by], [by, bx], [tx, ty], [ty, tx], [threads * 2, 1], [threads, 1], [bx * 2, by], [bx, by * 2]];
        let tiles = [[tx, ty], [bx, by], [ty, tx], [bx * 2, by * 2], [tx * 2, ty], [tx, ty * 2], [tx * 2, ty * 2]];
        let mut all = vec![];
        for block in blocks {
            all.extend(tiles.map(|tile| Launched { block, tile, shared }));
        }
        all.extend([2, 4].map(|by| Launched { shared: shared.max(1024) * by, ..own }));
        let changes = |it: &Launched| {
            2 * u32::from(it.block != own.block)
                + 3 * u32::from(it.tile != own.tile)
                + u32::from(it.shared != own.shared)
        };
        all.retain(|it| *it != own && it.block[0] * it.block[1] <= 1024 && it.block[0] > 0);
        all.dedup();
        all.sort_by_key(changes);
        let right = |launch: &Launched| {
            let is_right = |size: &Size, watch| {
                let plan = self.bench.plan(&size.problem, Some(*launch));
                plan.is_some_and(|plan| size.run(base, 0, &plan, watch).is_right())
            };
            sizes.class.iter().all(|size| is_right(size, false))
                && sizes.class.iter().chain(&sizes.hidden).all(|size| is_right(size, true))
        };
        let launch = all.into_iter().find(right)?;
        let words = |[x, y]: [u32; 2]| format!("{x},{y}");
        let launch = LaunchEdit { block: words(launch.block), tile: words(launch.tile), shared: launch.shared };
        Some((launch, sizes.names()))
    }

    /// The sizes at which edits are tried: those that are like the user's come first, the smallest of them first.
    fn sizes(&self, own: &Plan) -> Sizes {
        let Problem { m, n, k, seed, .. } = self.problem;
        let [tx, ty] = own.tile.map(u64::from);
        let deep = 1 << k.trailing_zeros().min(6);
        let of_size = |size: u64, tile: u64| if size.is_multiple_of(tile) { tile } else { 1 << size.trailing_zeros() };
        let odd = |target: u64, unit: u64| (target / unit).max(1) * unit;
        let edges = |tile: u64, unit: u64, parts: [u64; 3]| parts.map(|part| odd(tile * part / 4, unit));
        // A block that computes all of C has no tile.
        let larger = self.bench.plan(&Problem { m: m + 1, n: n + 1, ..self.problem }, None);
        let is_whole = [tx, ty] == [n, m] && larger.is_none_or(|larger| larger.tile != own.tile);
        let [of_m, of_n] = if is_whole { [1, 1] } else { [of_size(m, ty), of_size(n, tx)] };
        let rows = match () {
            () if is_whole => [5, 9, 13],
            () if of_m == ty => [ty, 2 * ty, 3 * ty],
            () => edges(ty, of_m, [3, 6, 9]),
        };
        let columns = match () {
            () if is_whole => [12, 7, 17],
            () if of_n == tx => [2 * tx, tx, 3 * tx],
            () => edges(tx, of_n, [7, 3, 10]),
        };
        let depths = [odd(24, deep), odd(40, deep) + if deep > 8 { deep } else { 0 }, odd(72, deep)];
        let aligned = of_m == ty && of_n == tx && deep >= 8;
        let mut class = vec![];
        // A mistake may need one of the user's own sizes: an index that does not fit its type, for instance.
        let shapes = [
            [rows[0], columns[1], k],
            [m, columns[1], k],
            [rows[0], n, k],
            [rows[0], columns[1], odd(8, deep)],
            [rows[0], columns[1], depths[0]],
            [rows[0], columns[0], depths[1]],
            [rows[1], columns[1], depths[0]],
            [rows[1], columns[0], depths[1]],
            [rows[2], columns[1], depths[2]],
        ];
        for (number, [m, n, k]) in (1..).zip(shapes) {
            class.extend(self.size([m, n, k], seed.wrapping_add(number), own));
        }
        let user = self.size([m, n, k], seed, own);
        class.sort_by_key(Size::cost);
        class.dedup_by_key(|size| size.name());
        if class.len() > 1 {
            class.retain(|size| size.work() <= 1 << 20);
        }
        let others = [[ty + 3, tx + 5, 45], [ty / 2 + 1, 2 * tx - 3, 37]];
        let others =
            if aligned { others.iter().filter_map(|&size| self.size(size, seed, own)).collect() } else { vec![] };
        // With many blocks or a long K no number fits by chance.
        let far = [[rows[0], columns[1], odd(600, deep)], [5 * rows[1], 7 * columns[1], depths[0]]];
        let hidden = far.iter().filter_map(|&size| self.size(size, seed.wrapping_add(99), own)).collect();
        class.extend(user);
        Sizes { class, hidden, others }
    }

    fn size(&self, [m, n, k]: [u64; 3], seed: u64, own: &Plan) -> Option<Size> {
        let problem = Problem { m, n, k, seed, ..self.problem };
        if problem.multiply_adds() > MOST_WORK.into() {
            return None;
        }
        let plan = self.bench.plan(&problem, None).filter(|plan| plan.specialisation == own.specialisation)?;
        Size::new(problem, plan)
    }
}

/// How often a name that an edit puts in stands on or beside a line that has a name of the edited line: of several names that have
/// one value, the one that is used with what is edited.
fn closeness(tokens: &Tokens, edit: &Edit) -> usize {
    let [Change { from, new, .. }] = &edit.changes[..] else { return 0 };
    let own = tokens.all.partition_point(|token| token.span.end <= *from);
    let Some(line) = tokens.all.get(own).map(|token| token.line) else { return 0 };
    let on_line = |at: &usize| tokens.all[*at].line == line && tokens.is_word(*at);
    let words: BTreeSet<&str> = (0..tokens.all.len()).filter(on_line).map(|at| tokens.of(at)).collect();
    let lines: BTreeSet<usize> = (0..tokens.all.len())
        .filter(|&at| tokens.all[at].line != line && tokens.of(at + 1) == "[" && words.contains(tokens.of(at)))
        .map(|at| tokens.all[at].line)
        .collect();
    let is_near = |at: &usize| lines.iter().any(|near| near.abs_diff(tokens.all[*at].line) <= 1);
    (0..tokens.all.len()).filter(|&at| tokens.of(at) == new.trim()).filter(is_near).count()
}

/// What a search asks of each edit.
struct Asked<'a> {
    entries: &'a BTreeSet<String>,
    specialisation: &'a Specialisation,
    /// The smallest size at which the kernel is wrong.
    small: &'a Size,
    sizes: &'a Sizes,
    /// Whether the product is right there, and only a hazard is wrong.
    by_hazard: bool,
    deadline: Instant,
}

/// The sizes at which edits are tried.
#[derive(Debug, Default)]
struct Sizes {
    /// Like the user's: multiples of the tile if his is one. An edit must be right at all of them.
    class: Vec<Size>,
    /// Like the user's, and so large that they are run for edits alone that are right at the others.
    hidden: Vec<Size>,
    /// Others: of several edits that work, the one that is right there, too, is better.
    others: Vec<Size>,
}

impl Sizes {
    fn names(&self) -> Vec<[u64; 3]> {
        let all = self.class.iter().chain(&self.hidden);
        all.map(Size::name).collect()
    }
}

#[cfg(test)]
mod tests {
    use plan::Arg;

    use super::super::edit::LineEdit;
    use super::*;

    const KERNEL: &str = "#define T 4\nextern \"C\" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {\n    __shared__ float a[T][T];\n    int x = threadIdx.x, row = blockIdx.y * T + threadIdx.y;\n    float s[2] = {0.f}, t = (float)(int)((x)), u;\n    if (row >= M || !x) return;\n    for (int k = 0; k < K / T; ++k) { a[x][k % T] = row < M ? A[row * K + k] : 0; __syncthreads(); }\n    if (x < N) C[row * N + x] += a[0][x] - s[1];\n}\n";

    #[test]
    fn no_beginning_of_a_source_is_too_odd_and_each_edit_says_its_lines() {
        let launch = plan::Launch {
            entry: "matmul".into(),
            grid: [1; 3],
            block: [4, 4, 1],
            shared_bytes: 0,
            args: vec![Arg::A(0), Arg::B(0), Arg::C(0), Arg::Int(1), Arg::Int(2), Arg::Int(3)],
        };
        for end in 0..=KERNEL.len() {
            let text = &KERNEL[..end];
            let all = proposals(text, &["TILE".to_owned()], Some(&launch));
            if end % 40 == 0 || end == KERNEL.len() {
                for edit in &all {
                    let edited = edit.apply(text).unwrap();
                    let changed = edit.lines(text);
                    assert!(edited != text && !changed.is_empty(), "{}", edit.what);
                    // What the lines say is what the edit does, but for white space.
                    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
                    for LineEdit { line, old, new } in changed {
                        assert_eq!(lines[line - 1], old);
                        lines[line - 1] = new;
                    }
                    let words = |text: &str| text.split_whitespace().collect::<String>();
                    assert_eq!(words(&lines.join("\n")), words(&edited), "{}", edit.what);
                }
            }
        }
        let whole = proposals(KERNEL, &[], Some(&launch));
        assert!(whole.len() > 400 && whole.is_sorted_by_key(|edit| (edit.tier, edit.cost)), "{}", whole.len());
    }
}
