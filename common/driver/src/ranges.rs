//! Sets of addresses as ranges.

/// Ranges `start..end` that do not touch each other, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    /// One range.
    pub fn one(start: u64, bytes: u64) -> Self {
        Self(if bytes == 0 { vec![] } else { vec![(start, start + bytes)] })
    }

    /// Any ranges.
    pub fn of(mut all: Vec<(u64, u64)>) -> Self {
        all.sort_unstable();
        let mut merged: Vec<(u64, u64)> = vec![];
        for (start, end) in all {
            match merged.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => merged.push((start, end)),
            }
        }
        Self(merged)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The ranges.
    pub fn list(&self) -> &[(u64, u64)] {
        &self.0
    }

    /// Adds others.
    pub fn add(&mut self, other: &Self) {
        if let ([.., last], [first]) = (&mut self.0[..], &other.0[..])
            && last.1 == first.0
        {
            last.1 = first.1;
            return;
        }
        *self = Self::of([self.list(), other.list()].concat());
    }

    /// The first address that is also in others.
    pub fn meets(&self, other: &Self) -> Option<u64> {
        let (mut a, mut b) = (self.0.iter().peekable(), other.0.iter().peekable());
        while let (Some(one), Some(two)) = (a.peek(), b.peek()) {
            if one.0.max(two.0) < one.1.min(two.1) {
                return Some(one.0.max(two.0));
            }
            if one.1 < two.1 {
                a.next()
            } else {
                b.next()
            };
        }
        None
    }

    /// The first address of a range that is not here.
    pub fn missing(&self, start: u64, end: u64) -> Option<u64> {
        let at = self.0.partition_point(|range| range.1 <= start);
        match self.0.get(at) {
            Some(&(from, to)) if from <= start => (to < end).then_some(to),
            _ => (start < end).then_some(start),
        }
    }

    /// The parts that lie in `start..end`.
    pub fn within(&self, start: u64, end: u64) -> Self {
        let first = self.0.partition_point(|range| range.1 <= start);
        let parts = self.0[first..].iter().take_while(|range| range.0 < end);
        Self(parts.map(|range| (range.0.max(start), range.1.min(end))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_added_compared_and_cut() {
        let mut all = Ranges::of(vec![(10, 20), (0, 4), (18, 30)]);
        assert_eq!(all.list(), [(0, 4), (10, 30)]);
        all.add(&Ranges::one(30, 2));
        assert_eq!((all.missing(11, 32), all.missing(11, 33), all.missing(4, 5)), (None, Some(32), Some(4)));
        assert_eq!((all.meets(&Ranges::one(4, 6)), all.meets(&Ranges::one(4, 7))), (None, Some(10)));
        assert_eq!(all.within(2, 11).list(), [(2, 4), (10, 11)]);
    }
}
