//! What the page asks, as data.

use crate::planner::Planner;
use plan::{Dtype, Fill, Problem};
use serde::Deserialize;

/// A request.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Request {
    /// The plan of a product.
    Plan(Box<PlanRequest>),
    /// Runs a kernel.
    Run(Box<RunRequest>),
    /// What everything looks like at a time.
    Look(LookRequest),
    /// Another time.
    Seek(SeekRequest),
    /// What a value means.
    Meaning(MeaningRequest),
    /// What a warp did in a line.
    Step(LookRequest),
    /// The picture of a hazard.
    Hazard {
        /// Its place among the run's hazards.
        number: usize,
    },
    /// Orders in which the product is right, and wrong.
    Witness,
    /// A model of time.
    Strips(StripsRequest),
    /// What can be launched.
    Entries {
        /// In this.
        ptx: String,
    },
    /// A number.
    Question(QuestionRequest),
}

/// The order in which warps and blocks run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(try_from = "String")]
pub struct Order {
    /// Instructions after which it is another warp's turn; 0 means that each warp runs to its next barrier.
    pub turn: u32,
    /// Several blocks run side by side.
    pub side_by_side: bool,
    /// The last warps and blocks first.
    pub backwards: bool,
}

impl Order {
    /// Each warp to its next barrier, block after block.
    pub const WARPS: Self = Self { turn: 0, side_by_side: false, backwards: false };
    /// The warps of a block by turns.
    pub const TURNS: Self = Self { turn: 1, ..Self::WARPS };
    /// The warps of several blocks by turns, side by side.
    pub const BLOCKS: Self = Self { side_by_side: true, ..Self::TURNS };
}

impl std::fmt::Display for Order {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self { side_by_side: true, .. } => "blocks",
            Self { turn: 0, .. } => "warps",
            _ => "turns",
        })?;
        if self.turn > 1 {
            write!(f, " {}", self.turn)?;
        }
        f.write_str(if self.backwards { " backwards" } else { "" })
    }
}

impl TryFrom<String> for Order {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let mut words = text.split(' ').peekable();
        let mut order = match words.next() {
            Some("warps") => Self::WARPS,
            Some("turns") => Self::TURNS,
            Some("blocks") => Self::BLOCKS,
            _ => return Err(format!("{text:?} is not an order; choose warps, turns or blocks")),
        };
        if let Some(turn) = words.peek().and_then(|word| word.parse().ok()).filter(|_| order.turn > 0) {
            order.turn = u32::max(turn, 1);
            words.next();
        }
        order.backwards = words.next_if_eq(&"backwards").is_some();
        match words.next() {
            Some(word) => {
                Err(format!("{text:?} is not an order because of {word:?}; write for example turns 7 backwards"))
            }
            None => Ok(order),
        }
    }
}

/// A kernel to run.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Kernel {
    /// The PTX.
    pub ptx: String,
    /// The source, for names of arrays and variables.
    #[serde(default)]
    pub source: String,
    /// The source's file, as the PTX names it.
    #[serde(default)]
    pub file: String,
    /// Who plans its launches.
    pub planner: Planner,
}

/// The plan of a product.
#[derive(Debug, Clone, Deserialize)]
pub struct PlanRequest {
    /// Who plans it.
    pub planner: Planner,
    /// Rows of A and C.
    pub m: u32,
    /// Columns of B and C.
    pub n: u32,
    /// Columns of A, rows of B.
    pub k: u32,
    /// What an element is.
    #[serde(default)]
    pub dtype: Dtype,
}

/// The product of these sizes, as steps plan it.
pub fn problem([m, n, k]: [u32; 3], dtype: Dtype) -> Problem {
    let [m, n, k] = [m, n, k].map(u64::from);
    Problem { m, n, k, dtype, fill: Fill::Integers, seed: 1 }
}

/// Runs a kernel.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct RunRequest {
    /// The kernel.
    pub kernel: Kernel,
    /// Rows of A and C.
    pub m: u32,
    /// Columns of B and C.
    pub n: u32,
    /// Columns of A, rows of B.
    pub k: u32,
    /// What an element is.
    #[serde(default)]
    pub dtype: Dtype,
    /// What A and B hold.
    #[serde(default)]
    pub fill: Fill,
    /// The order.
    #[serde(default)]
    pub order: Order,
    /// Warp instructions after which the run is stopped.
    #[serde(default)]
    pub limit: Option<u64>,
}

/// What everything looks like.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub struct LookRequest {
    /// The time.
    pub time: u32,
    /// The chosen block, by number.
    #[serde(default)]
    pub block: u32,
    /// The chosen warp.
    #[serde(default)]
    pub warp: u32,
    /// The chosen lane.
    #[serde(default)]
    pub lane: u32,
}

/// What is asked to mean something.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// All registers of the chosen lane.
    Registers,
    /// One of them.
    Register(String),
    /// A word of the chosen block's shared memory.
    Shared(u32),
    /// An element of C: row and column.
    Element([u32; 2]),
}

/// What a value means.
#[derive(Debug, Clone, Deserialize)]
pub struct MeaningRequest {
    /// When, and for whom.
    #[serde(flatten)]
    pub at: LookRequest,
    /// What.
    pub of: Subject,
}

/// Where to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    /// An instruction of the chosen warp.
    Instruction,
    /// Another line of the chosen warp.
    Line,
    /// The end of a visit of the chosen warp to a line in which it did more than to compute numbers.
    Step,
    /// The chosen block's first line that fetches elements of A or B.
    First,
    /// The chosen block's barrier.
    Barrier,
    /// A hazard.
    Hazard,
    /// An access of the chosen warp.
    Access,
    /// So many multiply-adds.
    Work,
}

/// Another time.
#[derive(Debug, Clone, Deserialize)]
pub struct SeekRequest {
    /// From here.
    #[serde(default)]
    pub from: u32,
    /// Backwards.
    #[serde(default)]
    pub back: bool,
    /// To what.
    pub to: Goal,
    /// The chosen block.
    #[serde(default)]
    pub block: u32,
    /// The chosen warp.
    #[serde(default)]
    pub warp: u32,
    /// A line of the source.
    #[serde(default)]
    pub line: Option<u32>,
    /// An array.
    #[serde(default)]
    pub array: Option<String>,
    /// Multiply-adds.
    #[serde(default)]
    pub work: Option<u64>,
    /// A part of all multiply-adds.
    #[serde(default)]
    pub share: Option<f64>,
}

/// A model of time: clock cycles until a result is there.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub struct StripsRequest {
    /// The block.
    pub block: u32,
    /// The launch.
    pub launch: usize,
    /// From global memory.
    pub global: u64,
    /// From shared memory.
    pub shared: u64,
    /// Of arithmetic.
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

/// A number.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct QuestionRequest {
    /// The counter.
    pub metric: String,
    /// The counter it is divided by.
    #[serde(default)]
    pub per: Option<String>,
    /// Of this line alone.
    #[serde(default)]
    pub line: Option<u32>,
    /// Of the lines that contain this text.
    #[serde(default)]
    pub contains: Option<String>,
    /// Of accesses to this array alone.
    #[serde(default)]
    pub array: Option<String>,
}
