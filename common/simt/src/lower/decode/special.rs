//! The names of the registers that tell a thread where it is.

use crate::lower::preset::Special;

pub(super) fn special(name: &str) -> Option<Special> {
    let axis = |suffix: &str| match suffix {
        "x" => Some(0),
        "y" => Some(1),
        "z" => Some(2),
        _ => None,
    };
    if let Some((name, suffix)) = name.split_once('.') {
        let axis = axis(suffix)?;
        return Some(match name {
            "tid" => Special::Tid(axis),
            "ntid" => Special::Ntid(axis),
            // A launch without clusters has one block in each.
            "ctaid" | "clusterid" => Special::Ctaid(axis),
            "nctaid" | "nclusterid" => Special::Nctaid(axis),
            "cluster_ctaid" => Special::Zero,
            "cluster_nctaid" => Special::One,
            _ => return None,
        });
    }
    Some(match name {
        "laneid" => Special::LaneId,
        "warpid" => Special::WarpId,
        "nwarpid" => Special::NWarpId,
        "lanemask_eq" => Special::LaneMaskEq,
        "lanemask_lt" => Special::LaneMaskLt,
        "lanemask_le" => Special::LaneMaskLe,
        "lanemask_gt" => Special::LaneMaskGt,
        "lanemask_ge" => Special::LaneMaskGe,
        "dynamic_smem_size" => Special::DynamicShared,
        "total_smem_size" | "aggr_smem_size" => Special::TotalShared,
        "smid" | "gridid" | "cluster_ctarank" => Special::Zero,
        "nsmid" | "cluster_nctarank" => Special::One,
        _ => return None,
    })
}
