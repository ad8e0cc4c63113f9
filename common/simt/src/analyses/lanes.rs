//! Walking over the lanes of a warp's mask.

/// The numbers of the lanes whose bits are set, in order.
pub(super) fn each(lanes: u32) -> impl Iterator<Item = usize> + Clone {
    Lanes(lanes)
}

#[derive(Debug, Clone)]
struct Lanes(u32);

impl Iterator for Lanes {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let lane = self.0.trailing_zeros() as usize;
        self.0 &= self.0.wrapping_sub(1);
        (lane < 32).then_some(lane)
    }
}
