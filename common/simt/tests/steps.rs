//! An observer that wants to know of every instruction: what it is told, and that nothing else changes.

use simt::analyses::counters::BlockCounters;
use simt::{
    Analysis, Arg, BlockInfo, Counters, Counts, Error, Executed, GlobalMemory, Kernel, LaunchConfig, LaunchInfo,
    Module, Observer, Works,
};
use std::sync::{Arc, Mutex};

const PTX: &str = include_str!("steps.ptx");

/// Adds up what is counted at each step, and keeps the order of the warps and the values of a register.
#[derive(Default)]
struct Steps {
    counters: Counters,
    kernel: Option<Kernel>,
    seen: Mutex<Seen>,
}

#[derive(Default, Clone)]
struct Seen {
    counts: Counts,
    works: Option<Works>,
    warps: Vec<(u64, u32)>,
    sums: Vec<f32>,
}

struct BlockSteps {
    counted: Arc<Mutex<Counts>>,
    kernel: Option<Kernel>,
    block: u64,
    seen: Seen,
}

impl Analysis for Steps {
    /// The counters first: what they counted of an instruction is there when it is added up.
    type Block = (BlockCounters, BlockSteps);

    fn begin(&mut self, launch: &LaunchInfo<'_>) {
        self.counters.begin(launch);
        self.kernel = Some(launch.kernel.clone());
    }

    fn in_order(&self) -> bool {
        true
    }

    fn steps(&self) -> bool {
        true
    }

    fn block(&self, block: &BlockInfo) -> Self::Block {
        let counted = Arc::new(Mutex::new(Counts::default()));
        let counters = self.counters.block(block).by_step(counted.clone());
        (counters, BlockSteps { counted, kernel: self.kernel.clone(), block: block.number, seen: Seen::default() })
    }

    fn end(&self, (counters, block): Self::Block) {
        let mut seen = self.seen.lock().unwrap();
        seen.counts += &block.seen.counts;
        seen.warps.extend(block.seen.warps);
        seen.sums.extend(block.seen.sums);
        self.counters.end(counters);
    }
}

impl Observer for BlockSteps {
    fn executed(&mut self, step: &Executed<'_>) {
        self.seen.counts += &self.counted.lock().unwrap();
        self.seen.warps.push((self.block, step.warp));
        let Some(kernel) = &self.kernel else { return };
        for register in kernel.registers_written(step.instruction).filter(|register| register.name == "%f3") {
            self.seen.sums.extend(step.register(&register).map(|bits| f32::from_bits(bits as u32)));
            assert!(register.float && register.bytes() == 4);
        }
    }
}

fn launch<A: Analysis>(analysis: &mut A, change: impl Fn(&mut LaunchConfig)) -> Result<(u64, Vec<f32>), Error> {
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
    let mut steps = Steps::default();
    let (instructions, result) = launch(&mut steps, change).unwrap();
    let seen = Seen { works: steps.counters.works(), ..steps.seen.lock().unwrap().clone() };
    (instructions, result, seen)
}

#[test]
fn the_steps_add_up_to_the_launch() {
    let mut counters = Counters::new();
    let (instructions, result) = launch(&mut counters, |_| {}).unwrap();
    assert!(counters.total().shared_load_bank_conflicts > 0);
    for turn in [0, 1, 2, 7] {
        for resident in [0, 1, 2, 5] {
            let (stepped, stepped_result, seen) = steps(|config| {
                config.turn = turn;
                config.resident = resident;
            });
            assert_eq!(
                (seen.counts, seen.works),
                (counters.total(), counters.works()),
                "turns of {turn}, {resident} blocks"
            );
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
        let (_, _, seen) = steps(|config| {
            config.turn = turn;
            config.resident = resident;
        });
        seen.warps[..200].windows(2).filter(|pair| pair[0].1 != pair[1].1).count()
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
