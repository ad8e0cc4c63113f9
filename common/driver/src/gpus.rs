//! The GPUs that the stand-in can be, from `gpus.txt`.

use std::collections::HashMap;

/// A GPU as the driver describes it.
#[derive(Debug, Clone, Default)]
pub struct Gpu {
    pub name: String,
    /// Bytes of memory.
    pub memory: u64,
    attributes: HashMap<u32, i32>,
}

/// Numbers of the attributes that are used here.
pub const THREADS_PER_BLOCK: u32 = 1;
/// Shared memory of a block that has not asked for more, in bytes.
pub const SHARED_PER_BLOCK: u32 = 8;
/// Registers of a multiprocessor.
pub const REGISTERS: u32 = 82;
/// Multiprocessors.
pub const MULTIPROCESSORS: u32 = 16;
/// Threads of a multiprocessor.
pub const THREADS: u32 = 39;
/// Shared memory of a multiprocessor, in bytes.
pub const SHARED: u32 = 81;
/// Major and minor number of the compute capability.
pub const CAPABILITY: [u32; 2] = [75, 76];
/// Shared memory of a block that has asked for more, in bytes.
pub const SHARED_OPT_IN: u32 = 97;
/// Blocks of a multiprocessor.
pub const BLOCKS: u32 = 106;
/// Shared memory that the system takes of each block, in bytes.
pub const SHARED_RESERVED: u32 = 111;

impl Gpu {
    /// An attribute by its number: 0 if it is not listed, `None` if no driver has it.
    pub fn attribute(&self, number: u32) -> Option<i32> {
        (1..=146).contains(&number).then(|| self.attributes.get(&number).copied().unwrap_or(0))
    }

    /// An attribute that is no negative number.
    pub fn size(&self, number: u32) -> u32 {
        self.attribute(number).unwrap_or(0).cast_unsigned()
    }

    /// All GPUs of the table.
    pub fn all() -> Vec<Self> {
        let mut all: Vec<Self> = vec![];
        for line in include_str!("gpus.txt").lines().filter(|line| !line.starts_with('#')) {
            let Some((key, value)) = line.split_once(' ') else { continue };
            if key == "gpu" {
                let attributes = all.first().map(|first| first.attributes.clone()).unwrap_or_default();
                all.push(Self { name: value.into(), memory: 0, attributes });
                continue;
            }
            let Some(gpu) = all.last_mut() else { continue };
            if key == "memory" {
                gpu.memory = value.parse().unwrap_or_default();
                continue;
            }
            let (first, last) = key.split_once('-').unwrap_or((key, key));
            if let (Ok(first), Ok(last), Ok(value)) = (first.parse::<u32>(), last.parse(), value.parse()) {
                gpu.attributes.extend((first..=last).map(|number| (number, value)));
            }
        }
        all
    }

    /// The GPU whose name has these letters; else the first one, and what to say about it.
    pub fn named(name: &str) -> (Self, Option<String>) {
        let all = Self::all();
        let found = all.iter().find(|gpu| gpu.name.to_lowercase().contains(&name.to_lowercase())).cloned();
        if let Some(gpu) = found {
            return (gpu, None);
        }
        let names: Vec<&str> = all.iter().map(|gpu| gpu.name.as_str()).collect();
        let said = format!("no GPU is called {name}; there are: {}", names.join(", "));
        (all.first().cloned().unwrap_or_default(), Some(said))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_name_is_enough_and_what_is_not_listed_is_the_first_ones() {
        let (gpu, said) = Gpu::named("a100");
        assert_eq!((gpu.size(MULTIPROCESSORS), gpu.size(THREADS), said), (108, 2048, None));
        let (gpu, said) = Gpu::named("Voodoo");
        assert!(
            gpu.name.contains("H100") && said.unwrap().starts_with("no GPU is called Voodoo; there are: NVIDIA H100")
        );
        assert!(Gpu::all().iter().all(|gpu| gpu.memory > 1 << 34 && gpu.attribute(147).is_none()));
    }
}
