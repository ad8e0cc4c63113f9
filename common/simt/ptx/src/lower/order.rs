//! The memory order of an instruction: what the words of its opcode mean in PTX's memory model.

use crate::ast::Type;
use crate::named::named;

named! {
    /// The threads for which an operation takes effect. A cluster is a single block here.
    #[derive(Default)]
    pub enum Scope {
        Block = "cta" | "cluster",
        #[default]
        Device = "gpu" | "gl",
        System = "sys",
    }
}

/// How an access or a fence takes part in the memory order. The default is that of a plain access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(clippy::struct_excessive_bools)] // They are independent modifiers of PTX.
pub struct MemoryOrder {
    /// For a strong access, which other threads in its scope may conflict with on purpose: the bytes of an element, else 0. Each
    /// element of a packed type is an access of its own.
    pub strong: u8,
    /// Whether it is a load that promises that nobody writes the data while the kernel runs (`.nc`).
    pub read_only: bool,
    /// Whether it is strong because it is `volatile`. PTX treats that like a relaxed access, but CUDA promises less.
    pub volatile: bool,
    pub acquire: bool,
    pub release: bool,
    /// Whether it belongs to a wait. A wait acquires only at its last instruction, a fence that runs when the wait is over.
    pub later: bool,
    /// Whether it is a fence between writes of threads to shared memory and reads by the asynchronous proxy.
    pub proxy: bool,
    /// The same for global memory.
    pub proxy_global: bool,
    /// Whether it is an operation on a barrier in memory, which is no access of the load and store units.
    pub barrier: bool,
    pub scope: Scope,
}

impl MemoryOrder {
    /// Whether other threads may conflict with the access on purpose.
    #[inline]
    pub fn is_strong(self) -> bool {
        self.strong > 0
    }

    /// Returns the order that an opcode and its modifiers specify.
    pub fn of(words: &[String]) -> Self {
        let has = |names: &[&str]| words.iter().skip(1).any(|word| names.contains(&word.as_str()));
        let scope = words.iter().skip(1).find_map(|word| Scope::named(word));
        let (acquire, release) = (has(&["acquire", "acq_rel"]), has(&["release", "acq_rel"]));
        let device = scope.unwrap_or(Scope::Device);
        let element = |kind: Type| if kind.is_packed() { 2 } else { kind.bytes() as u8 };
        let barrier = words[0] == "mbarrier" || words[0] == "cp" && has(&["mbarrier"]);
        let strong = words.iter().rev().find_map(|word| Type::named(word)).map_or(1, element);
        match words[0].as_str() {
            "atom" | "red" => Self { strong, acquire, release, scope: device, ..Self::default() },
            // Fences between proxies order no threads.
            "fence" if has(&["proxy"]) => {
                let [asynchronous, shared] = [has(&["async"]), has(&["shared::cta", "shared::cluster"])];
                let (proxy, proxy_global) = (asynchronous && !has(&["global"]), asynchronous && !shared);
                Self { proxy, proxy_global, ..Self::default() }
            }
            // This makes an initialised barrier visible to the copies that arrive there.
            "fence" if has(&["mbarrier_init"]) => Self { proxy: true, ..Self::default() },
            "membar" | "fence" => {
                let both = acquire == release;
                Self { acquire: acquire || both, release: release || both, scope: device, ..Self::default() }
            }
            // A barrier in memory: an arriving thread releases, and one that finds a phase complete acquires. Initialisation and
            // invalidation are plain writes.
            "mbarrier" if has(&["test_wait", "try_wait"]) => {
                let acquire = !has(&["relaxed"]);
                Self { strong, acquire, later: true, barrier, scope: Scope::Block, ..Self::default() }
            }
            // A copy's arrival does not release earlier stores of the thread, but is treated as if it did.
            "mbarrier" | "cp" if barrier && has(&["arrive", "arrive_drop", "expect_tx", "complete_tx"]) => {
                let release = has(&["arrive", "arrive_drop"]) && !has(&["relaxed"]);
                Self { strong, release, barrier, scope: Scope::Block, ..Self::default() }
            }
            "ld" | "st" if has(&["volatile", "mmio", "cv"]) => {
                Self { strong, volatile: true, scope: Scope::System, ..Self::default() }
            }
            "ld" | "st" if acquire || release || has(&["relaxed"]) => {
                Self { strong, acquire, release, scope: device, ..Self::default() }
            }
            "ld" if has(&["nc"]) => Self { read_only: true, ..Self::default() },
            _ => Self { barrier, ..Self::default() },
        }
    }
}
