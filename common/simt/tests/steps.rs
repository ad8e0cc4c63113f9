//! An observer of every instruction: what it is told must be right, and it must not change the launch.

use simt::{
    Analysis, Arg, BlockInfo, Counters, Counts, Error, Executed, GlobalMemory, Kernel, LaunchConfig, LaunchInfo,
    Module, Observer, Works,
};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

const PTX: &str = include_str!("steps.ptx");

/// Adds up the counts of each step, and keeps the order of the warps and the values of a register.
struct Steps {
    counters: Counters,
    block: BlockSteps,
}

#[derive(Default, Clone)]
struct Seen {
    counts: Counts,
    works: Option<Works>,
    warps: Vec<u32>,
    sums: Vec<f32>,
}

#[derive(Default, Clone)]
struct BlockSteps {
    counted: Arc<Mutex<Counts>>,
    kernel: Option<Kernel>,
    seen: Arc<Mutex<Seen>>,
}

impl Analysis for Steps {
    fn begin(&mut self, launch: &LaunchInfo<'_>) {
        self.counters.begin(launch);
        self.block.kernel = Some(launch.kernel.clone());
    }

    fn in_order(&self) -> bool {
        true
    }

    fn steps(&self) -> bool {
        true
    }

    fn block(&self, block: &BlockInfo) -> Vec<Box<dyn Observer>> {
        let mut observers = self.counters.block(block);
        observers.push(Box::new(self.block.clone()));
        observers
    }
}

impl Observer for BlockSteps {
    fn executed(&mut self, step: &Executed<'_>) {
        let mut seen = self.seen.lock().unwrap();
        seen.counts += &self.counted.lock().unwrap();
        seen.warps.push(step.warp);
        let Some(kernel) = &self.kernel else { return };
        for register in kernel.registers_written(step.instruction).filter(|register| register.name == "%f3") {
            seen.sums.extend(step.register(register).map(|bits| f32::from_bits(bits as u32)));
            assert!(register.float && register.bytes() == 4);
        }
    }
}

fn launch(analysis: &mut dyn Analysis, change: impl Fn(&mut LaunchConfig)) -> Result<(u64, Vec<f32>), Error> {
    let kernel = Module::parse(PTX)?.kernel("sums")?;
    let mut memory = GlobalMemory::new();
    let data = memory.alloc("data", 512, 4)?;
    let mut config = LaunchConfig::new(3, 128);
    change(&mut config);
    let report = simt::launch(&kernel, &mut memory, &config, &[Arg::Pointer(data)], analysis)?;
    let mut result = vec![0.0f32; 128];
    memory.download(data, 0, &mut result)?;
    Ok((report.warp_instructions, result))
}

fn steps(change: impl Fn(&mut LaunchConfig)) -> (u64, Vec<f32>, Seen) {
    let block = BlockSteps::default();
    let mut steps = Steps { counters: Counters::new().by_step(block.counted.clone()), block };
    let (instructions, result) = launch(&mut steps, change).unwrap();
    let seen = Seen { works: steps.counters.works(), ..steps.block.seen.lock().unwrap().clone() };
    (instructions, result, seen)
}

#[test]
fn the_steps_add_up_to_the_launch() {
    let mut counters = Counters::new();
    let (instructions, result) = launch(&mut counters, |_| {}).unwrap();
    assert!(counters.total().shared_load_bank_conflicts > 0);
    for turn in [0, 1, 2, 7] {
        for resident in [0, 1, 2, 5] {
            let (stepped, stepped_result, seen) = steps(|config| (config.turn, config.resident) = (turn, resident));
            let expected = (counters.total(), counters.works());
            assert_eq!((seen.counts, seen.works), expected, "turns of {turn}, {resident} blocks");
            assert_eq!((stepped, seen.warps.len() as u64), (instructions, instructions));
            assert_eq!(stepped_result, result);
        }
    }
}

#[test]
fn registers_are_seen_with_their_values() {
    let (_, result, seen) = steps(|_| {});
    assert_eq!(seen.sums[..128], result);
}

#[test]
fn warps_take_turns_and_blocks_run_side_by_side() {
    let changes = |turn, resident| {
        let (_, _, seen) = steps(|config| (config.turn, config.resident) = (turn, resident));
        seen.warps[..200].windows(2).filter(|pair| pair[0] != pair[1]).count()
    };
    assert!(changes(0, 0) < 12, "{}", changes(0, 0));
    assert!(changes(1, 0) > 150, "{}", changes(1, 0));
    assert!((40..100).contains(&changes(3, 0)), "{}", changes(3, 0));
}

#[test]
fn turns_without_steps_change_nothing() {
    let (instructions, result) = launch(&mut (), |config| config.turn = 1).unwrap();
    assert_eq!((instructions, result), launch(&mut (), |_| {}).unwrap());
}

#[test]
fn blocks_are_counted_as_they_end() {
    let kernel = Module::parse(PTX).unwrap().kernel("sums").unwrap();
    for (blocks, ended) in [(None, 6), (Some(&[1, 4][..]), 2)] {
        let count = AtomicU64::new(0);
        let count_one = || _ = count.fetch_add(1, Ordering::Relaxed);
        let mut memory = GlobalMemory::new();
        let data = [Arg::Pointer(memory.alloc("data", 512, 4).unwrap())];
        let config = LaunchConfig::new((3, 2), 128);
        simt::launch_blocks(&kernel, &mut memory, &config, &data, &mut (), blocks, &count_one).unwrap();
        assert_eq!(count.into_inner(), ended);
    }
}
