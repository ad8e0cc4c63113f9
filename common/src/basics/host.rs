//! The memory and the processor of the machine that runs the program.

use sysinfo::{MemoryRefreshKind, RefreshKind, System};

/// Memory of the host in bytes, within the limit of its control group; [`u64::MAX`] if the system does not report it.
pub fn total_bytes() -> u64 {
    memory()[0]
}

/// Memory of the host that is free or can be freed, in bytes, within the limit of its control group; [`u64::MAX`] if the system
/// does not report it.
pub fn available_bytes() -> u64 {
    memory()[1]
}

/// The processor in words, with its architecture and its cores.
pub fn processor() -> String {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    format!("the host's processor ({}, one of {cores} cores)", std::env::consts::ARCH)
}

/// Total and available memory in bytes.
fn memory() -> [u64; 2] {
    let refresh = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
    let system = System::new_with_specifics(refresh);
    if system.total_memory() == 0 {
        // Without /proc the system reports no memory at all, and the control group is unknown too.
        return [u64::MAX; 2];
    }
    let limits = system.cgroup_limits();
    let [total, free] = limits.map_or([None; 2], |limits| [limits.total_memory, limits.free_memory].map(Some));
    [known(system.total_memory(), total), known(system.available_memory(), free)]
}

/// The smaller of the system's figure and the limit. A figure of 0 means that it is unknown, so that nothing is refused in advance.
fn known(figure: u64, limit: Option<u64>) -> u64 {
    let figure = if figure == 0 { u64::MAX } else { figure };
    figure.min(limit.unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_figure_refuses_nothing_and_a_limit_binds() {
        let figures = [(0, None), (0, Some(512)), (1024, Some(512)), (256, Some(512)), (256, None)];
        assert_eq!(figures.map(|(figure, limit)| known(figure, limit)), [u64::MAX, 512, 512, 256, 256]);
    }

    #[test]
    fn this_machine_has_memory() {
        assert!(available_bytes() > 0 && total_bytes() >= 1 << 20);
    }
}
