//! The page's requests as data.

use crate::planner::Planner;
use plan::Problem;
use serde::Deserialize;
use simt::Held;

#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Request {
    Plan {
        planner: Box<Planner>,
        #[serde(flatten)]
        problem: Problem,
    },
    Run(Box<RunRequest>),
    /// The whole state at a time.
    Look(LookRequest),
    Seek(SeekRequest),
    Meaning {
        #[serde(flatten)]
        at: LookRequest,
        of: Subject,
    },
    /// The picture of a hazard, by its place among the run's hazards.
    Hazard {
        number: usize,
    },
    /// Orders in which the product is right, and wrong.
    Witness,
    /// A model of time.
    Strips(StripsRequest),
    /// What can be launched in pasted PTX.
    Entries {
        ptx: String,
    },
    Count(CountRequest),
}

/// The order in which warps and blocks run: by default each warp to its next barrier, block after block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(try_from = "String")]
pub struct Order {
    /// The warps of a block take turns of one instruction. Otherwise each runs to its next barrier.
    pub turns: bool,
    /// Several blocks run side by side.
    pub side_by_side: bool,
    /// The last warps and blocks first.
    pub backwards: bool,
    /// A warp that all others overtake in a launch, which is given by its number.
    pub held: Option<(usize, Held)>,
}

impl Order {
    /// All without a warp that others overtake, the plainest first.
    pub fn plain() -> impl Iterator<Item = Self> {
        let forwards = [(false, false), (true, false), (true, true)];
        let both =
            |(turns, side_by_side)| [false, true].map(|backwards| Self { turns, side_by_side, backwards, held: None });
        forwards.into_iter().flat_map(both)
    }

    /// Each warp to its next barrier, but one lets all others go first.
    pub fn holding(launch: usize, held: Held) -> Self {
        Self { side_by_side: true, held: Some((launch, held)), ..Self::default() }
    }
}

impl std::fmt::Display for Order {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some((launch, Held { block, warp, after })) = self.held {
            let block = block.map_or_else(|| "all".into(), |block| block.to_string());
            return write!(f, "overtaken {launch}.{block}.{warp}.{after}");
        }
        f.write_str(match self {
            Self { side_by_side: true, .. } => "blocks",
            Self { turns: false, .. } => "warps",
            _ => "turns",
        })?;
        f.write_str(if self.backwards { " backwards" } else { "" })
    }
}

/// The order in which a warp is overtaken, by its name.
fn overtaken(text: &str) -> Option<Order> {
    let mut parts = text.strip_prefix("overtaken ")?.split('.');
    let launch = parts.next()?.parse().ok()?;
    let block = parts.next()?;
    let block = if block == "all" { None } else { Some(block.parse().ok()?) };
    let held = Held { block, warp: parts.next()?.parse().ok()?, after: parts.next()?.parse().ok()? };
    parts.next().is_none().then(|| Order::holding(launch, held))
}

impl TryFrom<String> for Order {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let plain = Self::plain().find(|order| order.to_string() == text);
        plain.or_else(|| overtaken(&text)).ok_or_else(|| {
            format!("{text:?} is not an order; choose warps, turns or blocks, or for example turns backwards")
        })
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct KernelCode {
    pub ptx: String,
    /// The source, for names of arrays and variables.
    pub source: String,
    /// The source's file, as the PTX names it.
    pub file: String,
    pub planner: Planner,
}

#[derive(Debug, Clone, Deserialize)]
pub struct RunRequest {
    pub kernel: KernelCode,
    #[serde(flatten)]
    pub problem: Problem,
    #[serde(default)]
    pub order: Order,
    /// Warp instructions after which the run is stopped.
    pub limit: Option<u64>,
}

/// A time and the chosen thread.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub struct LookRequest {
    pub time: u32,
    pub block: u32,
    pub warp: u32,
    pub lane: u32,
}

/// A value whose meaning is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// All registers of the chosen lane.
    Registers,
    /// A word of the chosen block's shared memory.
    Shared(u32),
    /// An element of C: row and column.
    Element([u32; 2]),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    /// An instruction of the chosen warp.
    #[default]
    Instruction,
    /// Another line of the chosen warp.
    Line,
    /// The end of a visit of the chosen warp to a line in which it did more than to compute numbers.
    Step,
    /// The chosen block's first line that fetches elements of A or B.
    First,
    /// The chosen block's barrier.
    Barrier,
    Hazard,
    /// An access of the chosen warp.
    Access,
    Work,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct SeekRequest {
    pub from: u32,
    pub back: bool,
    pub to: Goal,
    pub block: u32,
    pub warp: u32,
    pub line: Option<u32>,
    pub array: Option<String>,
    /// A part of all multiply-adds.
    pub share: Option<f64>,
}

/// A model of time of one block: clock cycles until a result is there.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub struct StripsRequest {
    pub block: u32,
    pub launch: usize,
    /// From global memory, from shared memory, and of arithmetic.
    pub global: u64,
    pub shared: u64,
    pub fma: u64,
    /// Schedulers that issue an instruction per clock cycle each.
    pub schedulers: u32,
    /// The time that is to be found.
    pub time: Option<u32>,
}

impl Default for StripsRequest {
    fn default() -> Self {
        Self { block: 0, launch: 0, global: 600, shared: 30, fma: 4, schedulers: 4, time: None }
    }
}

/// What was counted, of the whole run or of a part of it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct CountRequest {
    /// The counter, and the one it is divided by.
    pub metric: String,
    pub per: Option<String>,
    /// Of accesses to this array alone.
    pub array: Option<String>,
    /// Of lines of the source that contain this text alone.
    pub contains: Option<String>,
}
