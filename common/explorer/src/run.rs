//! One run of a kernel: from a request to a tape, with what was found.

use crate::instructions::Program;
use crate::log::{Array, LaunchTape};
use crate::matrices::{self, UNWRITTEN, UNWRITTEN_F32};
use crate::recorder::Recorder;
use crate::request::{Order, RunRequest, problem};
use crate::tape::Tape;
use plan::{Dtype, Plan};
use simt::analyses::declarations::{Extents, shared_extents};
use simt::{
    Analysis, Arg, Counts, DevicePointer, Error, GlobalMemory, Hazard, Hazards, LaunchConfig, Module, Param, Type,
};

/// Warp instructions of a run at most.
pub const LIMIT: u64 = 4_000_000;
/// Blocks that run side by side, if they do.
const SIDE_BY_SIDE: usize = 4;

/// A hazard, and when it happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The time right after its second access.
    pub time: u32,
    /// The launch.
    pub launch: usize,
    /// What it is.
    pub hazard: Hazard,
}

/// An element of C that is not as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wrong {
    /// Its row and column.
    pub place: (u32, u32),
    /// What it is, as bits.
    pub value: u32,
    /// What it should be.
    pub expected: u32,
}

/// A run.
#[derive(Debug)]
pub struct Run {
    /// M, N, K.
    pub size: [u32; 3],
    /// What an element is.
    pub dtype: Dtype,
    /// The order of execution.
    pub order: Order,
    /// What was launched.
    pub plan: Plan,
    /// The lines of the source.
    pub source: Vec<String>,
    /// The source's file.
    pub file: String,
    /// What happened.
    pub tape: Tape,
    /// Hazards by time.
    pub hazards: Vec<Found>,
    /// C as it should be.
    pub expected: Vec<u32>,
    /// Why the run ended early, if it did.
    pub stopped: Option<String>,
    /// It was stopped because it was too long.
    pub endless: bool,
    /// Extents of shared arrays.
    pub extents: Vec<(String, Extents)>,
    /// The arguments of pasted PTX, as its launch has them.
    named: Vec<serde_json::Value>,
    limit: u64,
}

/// Numbers of the arrays.
pub const A: usize = 0;
/// See [`A`].
pub const B: usize = 1;
/// See [`A`].
pub const C: usize = 2;
const WORKSPACE: usize = 3;

impl Run {
    /// Runs a kernel. The error is a sentence, and nothing was run.
    pub fn new(request: &RunRequest) -> Result<Self, String> {
        let RunRequest { kernel, m, n, k, dtype, fill, order, limit } = request;
        let size = [*m, *n, *k];
        let plan = kernel.planner.plan(&problem(size, *dtype), &kernel.source)?;
        let said = |error: Error| error.to_string();
        let module = Module::parse(&kernel.ptx).map_err(said)?;
        let defines = &plan.specialisation.defines;
        let constants: Vec<(&str, i64)> =
            defines.iter().filter_map(|(name, value)| Some((name.as_str(), value.parse().ok()?))).collect();
        let extents = shared_extents(&kernel.source, &constants);

        let a = matrices::elements(1, m * k, *dtype, *fill);
        let b = matrices::elements(2, k * n, *dtype, *fill);
        let expected = matrices::product(&a, &b, size, *dtype);
        let unwritten = if *dtype == Dtype::F32 { UNWRITTEN_F32 } else { UNWRITTEN };
        let mut memory = GlobalMemory::new();
        let mut pointers = vec![];
        let workspace = plan.workspace_elements.min(1 << 20) as usize;
        for (name, words) in
            [("A", a), ("B", b), ("C", vec![unwritten; expected.len()]), ("workspace", vec![unwritten; workspace])]
        {
            let pointer = memory.alloc(name, (4 * words.len() as u64).max(4), 4).map_err(said)?;
            memory.upload(pointer, 0, &words).map_err(said)?;
            pointers.push(pointer);
        }
        let mut run = Self {
            size,
            dtype: *dtype,
            order: *order,
            source: kernel.source.lines().map(str::to_owned).collect(),
            file: kernel.file.clone(),
            tape: Tape::default(),
            hazards: vec![],
            expected,
            stopped: None,
            endless: false,
            extents,
            plan,
            named: kernel.planner.launch.as_ref().map_or_else(Vec::new, |launch| launch.args.clone()),
            limit: limit.map_or(LIMIT, |limit| limit.min(LIMIT)),
        };
        for number in 0..run.plan.launches.len() {
            let stopped = run.launch(&module, &mut memory, number, &pointers)?;
            if stopped.is_some() {
                run.stopped = stopped;
                break;
            }
        }
        if run.tape.full {
            run.stopped = Some("the run is too long to be recorded; choose a smaller size".into());
            run.endless = true;
        }
        run.hazards.sort_by_key(|found| found.time);
        Ok(run)
    }

    /// Runs one launch; why it ended early, if it did. An error if it could not start.
    fn launch(
        &mut self,
        module: &Module,
        memory: &mut GlobalMemory,
        number: usize,
        pointers: &[DevicePointer],
    ) -> Result<Option<String>, String> {
        let said = |error: Error| error.to_string();
        let launch = &self.plan.launches[number].clone();
        let kernel = module.kernel(&launch.entry).map_err(said)?;
        let mut hazards = Hazards::new();
        for (name, known) in &self.extents {
            hazards = hazards.extents(name, known.clone());
        }
        for (array, all) in [C, WORKSPACE].into_iter().zip(self.plan.must_write(number)) {
            if all {
                hazards = hazards.output(pointers[array]);
            }
        }
        let args = self.arguments(launch, kernel.params(), pointers);
        let config = self.config(launch, self.order, self.tape.length());
        let mut tape = std::mem::take(&mut self.tape);
        if tape.arrays.is_empty() {
            tape.log.arrays = arrays(memory)?;
            tape.end = tape.start();
        }
        let shared_bytes = if launch.shared_bytes > 0 {
            let dynamic = kernel.shared_arrays().iter().find(|array| array.bytes == 0).map(|array| array.offset);
            dynamic.unwrap_or_else(|| kernel.static_shared_bytes()) + launch.shared_bytes
        } else {
            kernel.static_shared_bytes()
        };
        let program = Program::new(&kernel, &self.file, &mut tape.log.keys);
        let blocks = launch.grid.iter().map(|&blocks| u64::from(blocks)).product::<u64>().min(1 << 16) as usize;
        let before = tape.launches.iter().map(|launch| launch.program.instructions.len() as u32);
        let first_instruction = before.sum();
        tape.log.launches.push(LaunchTape {
            program,
            first_instruction,
            grid: launch.grid,
            block: launch.block,
            shared_bytes,
            events: (tape.length(), u32::MAX),
            spans: vec![(u32::MAX, u32::MAX); blocks],
        });
        let mut recorder = Recorder::new(tape, hazards);
        let outcome = simt::launch(&kernel, memory, &config, &args, &mut recorder);
        let found = recorder.hazards.found();
        self.tape = recorder.finish();
        let number = self.tape.launches.len() - 1;
        let stopped = match outcome {
            Ok(_) => None,
            Err(error @ (Error::Fault(_) | Error::Limit(_))) => {
                self.endless = matches!(error, Error::Limit(_));
                Some(error.to_string())
            }
            Err(error) => return Err(error.to_string()),
        };
        // A launch that was stopped says nothing of how often an element was written.
        let counts = |hazard: &Hazard| stopped.is_none() || !hazard.kind.is_coverage();
        for hazard in found.into_iter().filter(counts) {
            let time = hazard.time.map_or_else(|| self.time_of(number, &hazard), |time| time as u32);
            self.hazards.push(Found { time: time.min(self.tape.length()), launch: number, hazard });
        }
        Ok(stopped)
    }

    fn config(&self, launch: &plan::Launch, order: Order, used: u32) -> LaunchConfig {
        let [grid, block] = [launch.grid, launch.block].map(|[x, y, z]| (x, y, z));
        LaunchConfig {
            dynamic_shared_bytes: launch.shared_bytes,
            shared_opt_in: true,
            instruction_limit: self.limit.saturating_sub(used.into()),
            threads: 1,
            turn: order.turn.into(),
            backwards: order.backwards,
            resident: if order.side_by_side { SIDE_BY_SIDE } else { 0 },
            ..LaunchConfig::new(grid, block)
        }
    }

    fn arguments(&self, launch: &plan::Launch, params: &[Param], pointers: &[DevicePointer]) -> Vec<Arg> {
        let pointer = |array: usize, offset: u64| Arg::Pointer(pointers[array].offset(offset as i64 * 4));
        let argument = |(at, argument): (usize, &plan::Arg)| match *argument {
            plan::Arg::A(offset) => pointer(A, offset),
            plan::Arg::B(offset) => pointer(B, offset),
            plan::Arg::C(offset) => pointer(C, offset),
            plan::Arg::Workspace(offset) => pointer(WORKSPACE, offset),
            plan::Arg::Int(value) => {
                let Some(param) = params.get(at).filter(|_| !self.named.is_empty()) else {
                    return Arg::U32(value as u32);
                };
                // A number of pasted PTX takes the type of its parameter.
                let number = self.named.get(at).and_then(serde_json::Value::as_f64).unwrap_or(value.into());
                Arg::Bytes(match (param.kind, param.bytes as usize) {
                    (Type::F32, _) => (number as f32).to_le_bytes().to_vec(),
                    (Type::F64, _) => number.to_le_bytes().to_vec(),
                    (_, bytes) => (number as i64).to_le_bytes()[..bytes.min(8)].to_vec(),
                })
            }
        };
        launch.args.iter().enumerate().map(argument).collect()
    }

    /// Runs everything once more, in an order, watched by something else. Gives C at the end.
    pub fn again(&self, order: Order, watch: &mut impl Analysis) -> Result<Vec<u32>, Error> {
        let mut memory = GlobalMemory::new();
        let mut pointers = vec![];
        for array in &self.tape.arrays {
            pointers.push(memory.alloc(&array.name, array.bytes, 4)?);
            memory.upload(pointers[pointers.len() - 1], 0, &array.words)?;
        }
        let mut used = 0;
        for (of_tape, launch) in self.tape.launches.iter().zip(&self.plan.launches) {
            let args = self.arguments(launch, of_tape.program.kernel.params(), &pointers);
            let config = self.config(launch, order, used);
            let ended = simt::launch(&of_tape.program.kernel, &mut memory, &config, &args, watch)?;
            used += ended.warp_instructions as u32;
        }
        let mut c = vec![0; self.expected.len()];
        memory.download(pointers[C], 0, &mut c)?;
        Ok(c)
    }

    /// When a hazard happened that was found only at the end: when the later of its threads first executed its line's
    /// instruction; one without threads shows at the end.
    fn time_of(&self, launch: usize, hazard: &Hazard) -> u32 {
        let of_launch = &self.tape.launches[launch];
        let (first, end) = of_launch.events;
        let times = hazard.parties.iter().filter_map(|party| {
            let [x, y, _] = of_launch.grid;
            let block = party.block.x + x * (party.block.y + y * party.block.z);
            let [x, y, _] = of_launch.block;
            let thread = party.thread.x + x * (party.thread.y + y * party.thread.z);
            let events = self.tape.events.get(first as usize..end as usize)?;
            let of_thread = events.iter().position(|event| {
                let text = || of_launch.program.kernel.location(event.instruction).ptx_line;
                (event.block(), event.warp()) == (block, thread / 32)
                    && event.lanes >> (thread % 32) & 1 != 0
                    && text() == party.location.ptx_line
            });
            Some(first + of_thread? as u32 + 1)
        });
        times.max().unwrap_or(end)
    }

    /// All counts.
    pub fn totals(&self) -> &Counts {
        &self.tape.end.totals
    }

    /// The elements of C that are not as they should be, at a time whose values these are.
    pub fn wrong<'a>(&'a self, c: &'a [u32]) -> impl Iterator<Item = Wrong> + 'a {
        let columns = self.size[1];
        let elements = (0u32..).zip(c).zip(&self.expected);
        elements
            .filter(|((_, value), expected)| !matrices::equal(**value, **expected, self.dtype))
            .map(move |((at, &value), &expected)| Wrong { place: (at / columns, at % columns), value, expected })
    }

    /// Row and column of a word of a matrix; of another array row 0.
    pub fn row_column(&self, array: usize, index: u32) -> [u32; 2] {
        let columns = [self.size[2], self.size[1], self.size[1]].get(array).copied().unwrap_or(u32::MAX);
        [index / columns, index % columns]
    }

    /// The name of an argument of a launch: `A`, or `K`.
    pub fn argument_name(&self, launch: usize, at: usize) -> Option<String> {
        if let Some(name) = self.named.get(at) {
            return Some(name.as_str().map_or_else(|| name.to_string(), str::to_owned));
        }
        let [m, n, k] = self.size.map(|side| side as i32);
        Some(match self.plan.launches.get(launch)?.args.get(at)? {
            plan::Arg::A(_) => "A".into(),
            plan::Arg::B(_) => "B".into(),
            plan::Arg::C(_) => "C".into(),
            plan::Arg::Workspace(_) => "workspace".into(),
            // As the course's kernels take them; equal sizes do not tell.
            plan::Arg::Int(value) if (at, *value) == (3, m) => "M".into(),
            plan::Arg::Int(value) if (at, *value) == (4, n) => "N".into(),
            plan::Arg::Int(value) if (at, *value) == (5, k) => "K".into(),
            plan::Arg::Int(value) => value.to_string(),
        })
    }

    /// The value of an element as a number.
    pub fn number(&self, bits: u32) -> f64 {
        match self.dtype {
            Dtype::F32 => f64::from(f32::from_bits(bits)),
            Dtype::I32 => f64::from(bits as i32),
        }
    }
}

/// The arrays of memory, with what they hold.
fn arrays(memory: &GlobalMemory) -> Result<Vec<Array>, String> {
    let array = |array: &simt::Allocation| {
        let mut words = vec![0u32; array.bytes().div_ceil(4) as usize];
        memory.download(array.base(), 0, &mut words).map_err(|error| error.to_string())?;
        Ok(Array { name: array.name().into(), base: array.base().0, bytes: array.bytes(), words })
    };
    memory.allocations().iter().map(array).collect()
}
