//! A few of many: what is shown and looked at when there is too much.

/// At most `most` of the items: the first half of that many, the others spread over the rest.
pub fn spread<T: Copy>(items: &[T], most: usize) -> Vec<T> {
    if items.len() <= most {
        return items.to_vec();
    }
    let (head, tail) = items.split_at(most / 2);
    let step = tail.len().div_ceil(most / 2);
    // From the end, so that the last item is among them.
    let mut spread: Vec<T> = tail.iter().rev().step_by(step).copied().collect();
    spread.reverse();
    head.iter().copied().chain(spread).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_items_are_all_kept_and_of_many_the_first_half_and_the_last() {
        assert_eq!(spread(&[1, 2, 3, 4], 4), [1, 2, 3, 4]);
        assert_eq!(spread(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 4), [0, 1, 5, 9]);
        let items: Vec<u32> = (0..1000).collect();
        let spread = spread(&items, 64);
        assert!(spread.len() <= 64 && spread[..32] == items[..32] && spread.last() == Some(&999));
    }
}
