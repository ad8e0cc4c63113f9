//! What the whole check says about wrong products.

use super::{
    Method, Shape, Verification, freivalds, host_bytes, host_rows, judge, right_product, twin, verify, verify_by,
};
use crate::matrix::Operands;
use plan::{Dtype, Fill, Problem};

const SHAPE: Shape = Shape { tile: [32, 32], tile_k: 32 };

fn problem(m: u64, n: u64, k: u64) -> Problem {
    Problem { m, n, k, dtype: Dtype::F32, fill: Fill::Uniform, seed: 4 }
}

/// A and B of a product of `f32`, from which wrong elements of C are made.
struct Wrong<'a> {
    a: &'a [f32],
    b: &'a [f32],
    n: usize,
    k: usize,
}

impl Wrong<'_> {
    fn part(&self, row: usize, col: usize, over: std::ops::Range<usize>) -> f32 {
        over.map(|i| self.a[row * self.k + i] * self.b[i * self.n + col]).sum()
    }

    fn right(&self, row: usize, col: usize) -> f32 {
        self.part(row, col, 0..self.k)
    }
}

/// The verdict on a product with these elements.
fn verdict(problem: &Problem, value: impl Fn(&Wrong, usize, usize) -> f32) -> Verification {
    let operands = Operands::new(problem).unwrap();
    let Operands::F32 { a, b } = &operands else { unreachable!() };
    let [m, n, k] = [problem.m, problem.n, problem.k].map(|edge| edge as usize);
    let wrong = Wrong { a, b, n, k };
    let words: Vec<u32> = (0..m * n).map(|place| value(&wrong, place / n, place % n).to_bits()).collect();
    let verdict = verify(problem, &operands, SHAPE, &mut host_rows(&words, problem.n)).unwrap();
    assert!(!verdict.ok);
    verdict
}

#[test]
fn what_a_wrong_product_shows_is_said() {
    type Mistake = fn(&Wrong, usize, usize) -> f32;
    let cases: [(&str, [u64; 3], Mistake); 9] = [
        ("wrong: the last K tile is missing", [40, 50, 70], |w, row, col| w.part(row, col, 0..64)),
        ("wrong: the first K tile is missing", [40, 50, 96], |w, row, col| w.part(row, col, 32..96)),
        ("wrong: only the first K tile", [40, 50, 96], |w, row, col| w.part(row, col, 0..32)),
        ("wrong: only the last K tile", [40, 50, 96], |w, row, col| w.part(row, col, 64..96)),
        ("wrong: they are twice the product", [40, 50, 70], |w, row, col| 2.0 * w.right(row, col)),
        ("wrong: they have the wrong sign", [40, 50, 70], |w, row, col| -w.right(row, col)),
        ("wrong: they are divided by K", [40, 50, 70], |w, row, col| w.right(row, col) / 70.0),
        ("wrong: each is 0.7000 times", [40, 50, 70], |w, row, col| w.right(row, col) * 0.7),
        ("wrong: they lie in 4 tiles", [40, 50, 70], |w, row, col| w.right((row + 1).min(39), col)),
    ];
    for (name, [m, n, k], mistake) in cases {
        let sentence = verdict(&problem(m, n, k), mistake).diagnosis.unwrap();
        assert!(sentence.contains(name), "{name} at {m}×{n}×{k}: {sentence}");
    }
}

/// In lower precision every sum is off by a little. After a race a sum may hold terms of another tile and is off by more, and the
/// product alone does not show why.
#[test]
fn a_race_is_not_taken_for_lower_precision() {
    let cut = |value: f32, bits: u32| f32::from_bits((value.to_bits() + (1 << bits >> 1)) >> bits << bits);
    for k in [64, 300, 1024] {
        let cases = [
            (16, 16, "A and B rounded to 8 bits"),
            (13, 13, "A and B rounded to 11 bits"),
            (0, 13, "products of B rounded to 11 bits"),
            (15, 14, "computed in lower precision?"),
        ];
        // The bound of a long sum is so wide that the finer types are within it.
        for (a, b, words) in cases.into_iter().take(if k == 1024 { 1 } else { 4 }) {
            let rounded = verdict(&problem(64, 64, k), |w, row, col| {
                (0..w.k).map(|i| cut(w.a[row * w.k + i], a) * cut(w.b[i * w.n + col], b)).sum()
            });
            assert!(rounded.words(None).contains(words), "{:?}", rounded.diagnosis);
            assert!(!rounded.words(None).contains("--check"));
        }
        // Some elements of a few rows take one term from the next tile of A.
        let raced = verdict(&problem(64, 64, k), |w, row, col| {
            let (term, next) = (row * w.k + 31, row * w.k + 63);
            let other = if row % 8 == 3 && col % 5 == 1 { w.a[next] - w.a[term] } else { 0.0 };
            w.right(row, col) + other * w.b[31 * w.n + col]
        });
        let words = raced.words(None);
        assert!(!words.contains("precision"), "{words}");
        assert!(words.ends_with("they lie in 4 tiles; run with --device sim --check to see why"), "{words}");
        assert!(raced.words(Some(0)).ends_with("they lie in 4 tiles"));
        assert!(raced.words(Some(1)).ends_with("of 4096 elements looked at are wrong: the hazard below says why"));
    }
}

#[test]
fn every_method_lets_the_product_through_and_nothing_else() {
    use Method::{Exact, Freivalds, FreivaldsAndSampledRows, Full};
    for (method, fill) in [
        (Full, Fill::Uniform),
        (Exact, Fill::Integers),
        (Freivalds, Fill::Integers),
        (FreivaldsAndSampledRows, Fill::Uniform),
    ] {
        let problem = Problem { fill, ..problem(70, 50, 40) };
        let operands = Operands::new(&problem).unwrap();
        let mut words = right_product(&problem, &operands).unwrap();
        let check = |words: &[u32]| verify_by(method, &problem, &operands, SHAPE, &mut host_rows(words, 50)).unwrap();
        let Verification { ok, method: by, diagnosis, mismatches, map, .. } = check(&words);
        assert_eq!((ok, by, diagnosis, map), (true, method, None, None));
        assert!(mismatches.is_empty());
        // Every method finds NaN in every row.
        for row in 0..70 {
            let place = row * 50 + row % 50;
            let right = std::mem::replace(&mut words[place], f32::NAN.to_bits());
            let found = check(&words);
            words[place] = right;
            assert!(!found.ok && found.diagnosis.is_some() && found.map.is_some(), "{method:?}, row {row}");
            let places: Vec<_> = found.mismatches.iter().map(|wrong| (wrong.row, wrong.col)).collect();
            assert_eq!(places, [(row as u64, row as u64 % 50)]);
            assert_eq!((found.max_error, found.worst_bound_share), (None, None));
        }
    }
}

#[test]
fn panels_are_computed_and_judged_one_after_the_other() {
    // Two rows per panel, and one in the last panel.
    let n = 3_usize << 20;
    for (dtype, not_finite) in [(Dtype::F32, &[3, 4][..]), (Dtype::I32, &[4])] {
        let problem = Problem { dtype, fill: Fill::Integers, ..problem(5, n as u64, 1) };
        let operands = Operands::new(&problem).unwrap();
        let expected: Vec<u32> = match &operands {
            Operands::F32 { a, b } => a.iter().flat_map(|a| b.iter().map(move |b| (a * b).to_bits())).collect(),
            Operands::I32 { a, b } => a.iter().flat_map(|a| b.iter().map(move |b| (a * b).0 as u32)).collect(),
        };
        let mut words = right_product(&problem, &operands).unwrap();
        let zero_or_same = |(&one, &other): (&u32, &u32)| one == other || (one << 1, other << 1) == (0, 0);
        assert!(words.len() == expected.len() && words.iter().zip(&expected).all(zero_or_same));
        let wrong_rows =
            |words: &[u32]| freivalds::wrong_rows(&problem, &operands, &mut host_rows(words, problem.n)).unwrap();
        assert_eq!(wrong_rows(&words), [0_u64; 0]);
        words[3 * n + 7] = f32::NAN.to_bits();
        words[4 * n + 9] = dtype.poison();
        assert_eq!(wrong_rows(&words), [3, 4]);
        let mut c = host_rows(&words, problem.n);
        assert_eq!(judge::rows_with_nan(&problem, &mut c).unwrap(), not_finite);
        for (rows, wrong) in [(&[0, 1, 2, 3, 4][..], &[(3, 7, false), (4, 9, true)][..]), (&[0, 1, 4], &[(4, 9, true)])]
        {
            let found = judge::rows(&problem, &operands, SHAPE, &mut c, rows.iter().copied()).unwrap();
            let places: Vec<_> = found.first.iter().map(|wrong| (wrong.row, wrong.col, wrong.unwritten)).collect();
            assert_eq!((&places[..], found.compared), (wrong, (rows.len() * n) as u64));
        }
    }
}

#[test]
fn only_a_large_product_of_rounded_sums_has_a_twin_and_the_host_holds_what_the_method_needs() {
    let large = problem(100_000, 100_000, 100_000);
    assert_eq!(twin(&large), Some(Problem { fill: Fill::Integers, ..large }));
    assert_eq!(twin(&Problem { fill: Fill::Integers, ..large }), None);
    assert_eq!(twin(&problem(10, 10, 10)), None);
    // All rows are in one panel: 16 bytes per element of C, 12 per element of B and of A's rows.
    assert_eq!(host_bytes(&problem(100, 1000, 10)), 16 * 100_000 + 12 * (10_000 + 1000));
    // 83 rows per panel.
    assert_eq!(host_bytes(&Problem { dtype: Dtype::I32, ..large }), 4 * 8_300_000);
    assert_eq!(host_bytes(&large), 4 * 8_300_000 + 4 * 20_000_000_000);
}
