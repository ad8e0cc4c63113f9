//! Chooses how a product is checked: as thoroughly as is possible in a few seconds.

use serde::{Deserialize, Serialize};

use plan::{Dtype, Fill, Problem};

/// How a product was checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Every element, against float64 and the error bound.
    #[default]
    Full,
    /// Every element, exactly.
    Exact,
    /// Freivalds' check in integer arithmetic.
    Freivalds,
    /// Freivalds' check of an integer twin, and sampled rows of the problem itself.
    FreivaldsAndSampledRows,
}

impl Method {
    /// The method in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Full => "every element against a float64 product",
            Self::Exact => "every element, exactly",
            Self::Freivalds => "Freivalds' check, exact in integers",
            Self::FreivaldsAndSampledRows => "Freivalds' check of an integer twin, and sampled rows against float64",
        }
    }

    /// The method for a problem on this machine: the strictest one that takes at most a few seconds.
    pub fn choose(problem: &Problem) -> Self {
        let cores = rayon::current_num_threads() as u128;
        // A float64 product and one of absolute values take about 1/10 ns per multiply-add on a core; exact integers take 1/2 ns.
        let affordable = |per_core: u128| problem.multiply_adds() <= cores * per_core;
        match (problem.dtype, problem.fill) {
            (Dtype::F32, Fill::Uniform) if affordable(20_000_000_000) => Self::Full,
            (Dtype::F32, Fill::Uniform) => Self::FreivaldsAndSampledRows,
            _ if affordable(1_000_000_000) => Self::Exact,
            _ => Self::Freivalds,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_core_takes_its_share_of_what_is_affordable() {
        let cores = rayon::current_num_threads() as u64;
        for (dtype, fill, most, below, above) in [
            (Dtype::F32, Fill::Uniform, 20 * cores, Method::Full, Method::FreivaldsAndSampledRows),
            (Dtype::F32, Fill::Integers, cores, Method::Exact, Method::Freivalds),
            (Dtype::I32, Fill::Uniform, cores, Method::Exact, Method::Freivalds),
        ] {
            let chosen = |m| Method::choose(&Problem { m, n: 1000, k: 1_000_000, dtype, fill, seed: 1 });
            assert_eq!([chosen(most), chosen(most + 1)], [below, above]);
        }
    }
}
