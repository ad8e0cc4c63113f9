//! Iterating over the lanes in a warp's mask.

/// The numbers of the lanes whose bits are set, in order.
#[inline]
pub(crate) fn each(lanes: u32) -> impl Iterator<Item = usize> + Clone {
    let mut rest = lanes;
    std::iter::from_fn(move || {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest.wrapping_sub(1);
        (lane < 32).then_some(lane)
    })
}

/// The mask of those lanes for which `f` holds.
#[inline]
pub(crate) fn select(lanes: u32, f: impl Fn(usize) -> bool) -> u32 {
    each(lanes).filter(|&lane| f(lane)).fold(0, |mask, lane| mask | 1 << lane)
}
