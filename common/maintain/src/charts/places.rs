//! Where marks and labels of a chart go.

/// A round number of which `most` or fewer reach the limit.
pub fn tick(limit: f64, most: f64) -> f64 {
    let rough = (limit / most).max(f64::MIN_POSITIVE);
    let power = 10_f64.powf(rough.log10().floor());
    let digit = [1.0, 2.0, 5.0, 10.0].into_iter().find(|digit| digit * power >= rough * (1.0 - 1e-9)).unwrap_or(10.0);
    digit * power
}

/// Moves labels apart so that none covers another, in the order of their heights.
pub fn apart(heights: &[f64], space: f64, bottom: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..heights.len()).collect();
    order.sort_by(|&a, &b| heights[a].total_cmp(&heights[b]));
    let mut placed = heights.to_vec();
    let mut floor = f64::NEG_INFINITY;
    for &at in &order {
        placed[at] = placed[at].max(floor);
        floor = placed[at] + space;
    }
    let mut ceiling = bottom;
    for &at in order.iter().rev() {
        placed[at] = placed[at].min(ceiling);
        ceiling = placed[at] - space;
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_do_not_cover_each_other_and_stay_inside() {
        let placed = apart(&[100.0, 101.0, 99.0, 300.0, 299.0], 16.0, 305.0);
        let mut sorted = placed.clone();
        sorted.sort_by(f64::total_cmp);
        assert!(sorted.windows(2).all(|pair| pair[1] - pair[0] >= 15.999), "{placed:?}");
        assert!(placed.iter().all(|&y| y <= 305.0) && placed[2] < placed[0] && placed[0] < placed[1]);
    }

    #[test]
    fn ticks_are_round() {
        for (limit, step) in [(51.2, 10.0), (7.0, 1.0), (0.9, 0.2), (800.0, 100.0)] {
            assert!((tick(limit, 8.0) - step).abs() < 1e-9, "{limit}: {}", tick(limit, 8.0));
        }
    }
}
