//! The memory order of an instruction, as the words of its opcode say it and PTX's memory model means it.

use crate::ast::Type;
use crate::named::named;

named! {
    /// The threads that an operation is meant for. A cluster is a single block here.
    #[derive(Default)]
    pub(crate) enum Scope {
        Block = "cta" | "cluster",
        #[default]
        Device = "gpu" | "gl",
        System = "sys",
    }
}

/// How an access or a fence takes part in the order of memory; by default as a plain access does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(clippy::struct_excessive_bools)] // They are the modifiers of PTX, each by itself.
pub(crate) struct MemoryOrder {
    /// Bytes of an element, if threads within the scope may meet at the same place by intention; else zero. Each element of a
    /// packed type is one by itself.
    pub strong: u8,
    /// A load of what nobody writes while the kernel runs, as it promises (`.nc`).
    pub read_only: bool,
    /// Strong because it is `volatile`: PTX promises what it promises of relaxed accesses, CUDA promises less.
    pub volatile: bool,
    pub acquire: bool,
    pub release: bool,
    /// What it reads is acquired only by a fence behind it: where a wait finds that it is over.
    pub later: bool,
    /// A fence between what threads write to shared memory and what the asynchronous proxy reads.
    pub proxy: bool,
    /// An operation on a barrier in memory, which is no access of the load and store units.
    pub barrier: bool,
    pub scope: Scope,
}

impl MemoryOrder {
    /// Whether others may meet the access by intention.
    pub fn is_strong(self) -> bool {
        self.strong > 0
    }

    /// The order that an opcode and its modifiers name.
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
            // Those between proxies order no thread with another. One for global memory alone does nothing for shared memory.
            "fence" if has(&["proxy"]) => Self { proxy: has(&["async"]) && !has(&["global"]), ..Self::default() },
            // What makes a barrier in memory known to the copies that arrive there.
            "fence" if has(&["mbarrier_init"]) => Self { proxy: true, ..Self::default() },
            "membar" | "fence" => {
                let both = acquire == release;
                Self { acquire: acquire || both, release: release || both, scope: device, ..Self::default() }
            }
            // A barrier in memory: who arrives releases, who finds a phase complete acquires; making and unmaking it are
            // plain writes.
            "mbarrier" if has(&["test_wait", "try_wait"]) => Self {
                strong,
                acquire: !has(&["relaxed"]),
                later: true,
                barrier,
                scope: Scope::Block,
                ..Self::default()
            },
            // Copies arrive when they have landed. What the thread has stored before is not theirs, but is taken for it.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of an opcode, the bytes within which others may meet it, its scope, and what else it does.
    #[test]
    fn orders_follow_from_the_words() {
        for line in include_str!("order.txt").lines() {
            let (opcode, expected) = line.split_once(": ").unwrap();
            let order = MemoryOrder::of(&opcode.split('.').map(str::to_owned).collect::<Vec<_>>());
            let MemoryOrder { strong, read_only, volatile, acquire, release, later, proxy, barrier, scope } = order;
            let mut found = format!("{strong} {scope:?}");
            for (holds, word) in [
                (read_only, " read_only"),
                (volatile, " volatile"),
                (acquire, " acquire"),
                (release, " release"),
                (later, " later"),
                (proxy, " proxy"),
                (barrier, " barrier"),
            ] {
                found += if holds { word } else { "" };
            }
            assert_eq!(found, expected, "{opcode}");
        }
    }
}
