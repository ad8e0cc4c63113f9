//! Lays out a kernel: inlines its calls, and gives each of its variables a place.

use super::inst::SystemCall;
use crate::ast::{Function, Item, Operand, Position, Statement, Variable};
use crate::error::Error;
use crate::parsed::{INDIRECT, Parsed};
use crate::place::Space;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The longest kernel after inlining: the limit for its instructions, and also for its registers and variables.
const LARGEST_KERNEL: usize = 4_000_000;
const DEEPEST_CALL: usize = 64;
/// The most local memory that a thread may have, in bytes, as on a GPU.
const LARGEST_LOCAL: u64 = 512 * 1024;

/// One inlined call of a function, or the kernel itself.
pub(super) struct Frame {
    pub function: usize,
    /// The number of its first register.
    pub registers: u32,
    pub places: Vec<Address>,
    /// The label after the call. `None` for the kernel itself.
    pub back: Option<Arc<str>>,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Address {
    Unplaced,
    Shared(u32),
    Local(u32),
    Param(u32),
    Module(u32),
}

/// An item of the inlined kernel.
pub(super) enum Flat<'a> {
    /// A label of a frame. The label after an inlined function, where its caller goes on, belongs to no frame.
    Label(usize, Arc<str>),
    /// A statement of a frame.
    Statement(usize, &'a Statement),
    /// A result or an argument of a call is passed: its destination and its source, each with its frame.
    Pass { to: (usize, Operand), from: (usize, Operand), position: Position },
}

pub(super) struct Layout<'a> {
    pub inner: &'a Parsed,
    pub frames: Vec<Frame>,
    pub flat: Vec<Flat<'a>>,
    pub registers: u32,
    /// Static arrays in order, followed by the dynamic one.
    pub shared: Vec<SharedArray>,
    /// Places of shared variables, by function (`None` for the module) and number.
    pub placed: HashMap<(Option<usize>, u32), u32>,
    pub shared_bytes: u64,
    /// Dynamic arrays, by owner and number as in `placed`.
    pub dynamic: Vec<(Option<usize>, u32)>,
    pub local_bytes: u64,
    pub param_bytes: u32,
    /// The number of registers and variables so far.
    laid: usize,
    /// The functions whose inlining has begun but not ended. Each is called by the one before it.
    callers: Vec<usize>,
}

/// Returns the results, the function's name and the arguments of a direct call.
pub(super) fn parts_of_call(statement: &Statement) -> Option<(&[Operand], &str, &[Operand])> {
    let (mut results, mut name, mut arguments) = (&[][..], None, &[][..]);
    for operand in &statement.operands {
        match operand {
            Operand::List(list) if name.is_none() => results = list,
            Operand::List(list) => arguments = list,
            Operand::Name { name: function, offset: 0 } if name.is_none() => name = Some(&**function),
            _ => return None,
        }
    }
    Some((results, name?, arguments))
}

impl<'a> Layout<'a> {
    /// Lays out the kernel with this number, including all that it calls.
    pub fn new(parsed: &'a Parsed, index: usize) -> Result<Self, Error> {
        let mut layout = Self {
            inner: parsed,
            frames: vec![],
            flat: vec![],
            registers: 0,
            shared: vec![],
            placed: HashMap::new(),
            shared_bytes: 0,
            dynamic: vec![],
            local_bytes: 0,
            param_bytes: 0,
            laid: 0,
            callers: vec![],
        };
        layout.lay(index, &HashMap::new(), None)?;
        Ok(layout)
    }

    fn function(&self, index: usize) -> &'a Function {
        &self.inner.program.functions[index]
    }

    /// Returns a variable of a function, or (if `owner` is `None`) of the module.
    fn variable(&self, owner: Option<usize>, number: u32) -> &'a Variable {
        let variables = owner.map_or(&self.inner.program.variables, |function| &self.function(function).variables);
        &variables[number as usize]
    }

    /// Returns the position of a shared variable, and chooses it if it has none yet.
    pub fn shared(&mut self, owner: Option<usize>, number: u32) -> u32 {
        if let Some(&offset) = self.placed.get(&(owner, number)) {
            return offset;
        }
        let variable = self.variable(owner, number);
        let offset = self.shared_bytes.next_multiple_of(u64::from(variable.align.max(1)));
        self.shared_bytes = offset.saturating_add(variable.bytes);
        self.placed.insert((owner, number), offset as u32);
        let bytes = variable.bytes.min(u64::from(u32::MAX)) as u32;
        self.shared.push(SharedArray::new(&variable.name, offset as u32, bytes));
        offset as u32
    }

    /// Lays out a function. `bound` holds the places of parameters that are variables of its caller.
    fn lay(&mut self, index: usize, bound: &HashMap<u32, Address>, back: Option<Arc<str>>) -> Result<(), Error> {
        self.callers.push(index);
        let function = self.function(index);
        if let Some(refused) = &function.refused {
            return Err(refused.clone());
        }
        let too_large = |reason| Err(Error::unsupported(function.line, &function.name, reason));
        let frame = self.frames.len();
        let mut places = Vec::with_capacity(function.variables.len());
        for (number, variable) in (0u32..).zip(&function.variables) {
            let refuse = |reason: &str| Err(Error::unsupported(variable.line, &variable.name, reason));
            let place = match variable.space {
                Space::Shared if variable.external || variable.bytes == 0 => {
                    self.dynamic.push((Some(index), number));
                    Address::Unplaced
                }
                Space::Shared => Address::Shared(self.shared(Some(index), number)),
                Space::Parameter if bound.contains_key(&number) => bound[&number],
                Space::Parameter if function.entry && (number as usize) < function.params.len() => {
                    let offset = self.param_bytes.next_multiple_of(variable.align.max(1));
                    self.param_bytes = offset.saturating_add(variable.bytes as u32);
                    if variable.bytes > 32_764 || self.param_bytes > 32_764 {
                        return refuse("parameters of more than 32,764 bytes");
                    }
                    Address::Param(offset)
                }
                Space::Local | Space::Parameter => {
                    let offset = self.local_bytes.next_multiple_of(variable.align.max(1).into());
                    self.local_bytes = offset.saturating_add(variable.bytes);
                    Address::Local(offset as u32)
                }
                _ => match self.inner.inner.get(&(index, number)) {
                    Some(&module) => Address::Module(module),
                    None => return refuse("a variable of this space inside a function"),
                },
            };
            if self.local_bytes > LARGEST_LOCAL {
                return refuse(&format!("more than {LARGEST_LOCAL} bytes of local memory a thread"));
            }
            places.push(place);
        }
        self.laid += places.len() + function.registers.len();
        if self.laid > LARGEST_KERNEL {
            return too_large("kernels with this many registers and variables");
        }
        self.frames.push(Frame { function: index, registers: self.registers, places, back: back.clone() });
        self.registers += function.registers.len() as u32;
        for item in &function.body {
            if self.flat.len() > LARGEST_KERNEL {
                return too_large("kernels this long");
            }
            match item {
                Item::Label(name) => self.flat.push(Flat::Label(frame, name.clone())),
                Item::Targets(..) => {}
                Item::Statement(statement) if statement.words[0] == "call" => self.call(frame, statement)?,
                Item::Statement(statement) => self.flat.push(Flat::Statement(frame, statement)),
            }
        }
        if let Some(back) = back {
            self.flat.push(Flat::Label(usize::MAX, back));
        }
        self.callers.pop();
        Ok(())
    }

    /// `call (results), function, (parameters);`
    fn call(&mut self, frame: usize, statement: &'a Statement) -> Result<(), Error> {
        let location = self.inner.location(statement.position);
        let refuse = |reason: &str| Err(Error::Unsupported { reason: reason.into(), location: location.clone() });
        let Some((results, name, arguments)) = parts_of_call(statement) else { return refuse("an indirect call") };
        let indirect = statement.words.iter().any(|word| word == INDIRECT);
        if !indirect && self.inner.comes_later(name, statement.position.ptx) {
            return Err(Error::parse(statement.position.ptx, format!("{name} is called before it is declared")));
        }
        if SystemCall::named(name).is_some() {
            self.flat.push(Flat::Statement(frame, statement));
            return Ok(());
        }
        let found = self.inner.function(name);
        let Some(index) = found.filter(|index| !self.callers.contains(index)) else {
            return Err(Error::Call { function: name.to_string(), recursive: found.is_some(), location });
        };
        let function = self.function(index);
        if statement.guard.is_some() {
            return refuse("a call under a predicate");
        }
        if self.callers.len() > DEEPEST_CALL {
            return refuse("calls nested this deep");
        }
        let mut fits = results.len() == function.results.len() && arguments.len() == function.params.len();
        let (mut bound, mut before, mut after) = (HashMap::new(), vec![], vec![]);
        let callee = self.frames.len();
        let results = function.results.iter().zip(results).map(|pair| (pair, true));
        for ((formal, actual), result) in function.params.iter().zip(arguments).map(|pair| (pair, false)).chain(results)
        {
            let (inside, outside) = ((callee, formal.clone()), (frame, actual.clone()));
            match (formal, actual) {
                (_, Operand::Sink) if result => {}
                (&Operand::Local { id, .. }, Operand::Local { id: own, offset: 0 }) => {
                    let own = *own as usize;
                    let actual = &self.function(self.frames[frame].function).variables[own];
                    // An indirect call tries one function after another, so the arguments may not fit this one.
                    fits &= indirect || function.variables[id as usize].bytes == actual.bytes;
                    bound.insert(id, self.frames[frame].places[own]);
                }
                _ if result => after.push((outside, inside)),
                _ => before.push((inside, outside)),
            }
        }
        let position = statement.position;
        if !fits {
            let message = format!("{name} is called with other parameters than it declares");
            return Err(Error::parse(position.ptx, message));
        }
        let pass = |(to, from)| Flat::Pass { to, from, position };
        self.flat.extend(before.into_iter().map(pass));
        // No label in a source can have a space.
        let back: Arc<str> = format!("return {callee}").into();
        self.lay(index, &bound, Some(back))?;
        self.flat.extend(after.into_iter().map(pass));
        Ok(())
    }

    /// Places every shared variable of the module that the kernel uses, then the dynamic arrays.
    pub fn place_dynamic(&mut self) {
        let operands = self.flat.iter().flat_map(|item| match item {
            Flat::Statement(_, statement) => &statement.operands[..],
            _ => &[],
        });
        let bases = operands.map(|operand| if let Operand::Address { base, .. } = operand { base } else { operand });
        let names =
            bases.filter_map(|base| if let Operand::Name { name, .. } = base { Some(name.clone()) } else { None });
        let names: HashSet<Arc<str>> = names.collect();
        let program = &self.inner.program;
        for (number, variable) in (0u32..).zip(&program.variables) {
            if variable.space == Space::Shared && names.contains(&*variable.name) {
                if variable.external || variable.bytes == 0 {
                    self.dynamic.push((None, number));
                } else {
                    self.shared(None, number);
                }
            }
        }
        // All dynamic arrays start at the same place, after the static ones.
        let offset = self.dynamic_offset();
        let dynamic = std::mem::take(&mut self.dynamic);
        let mut known: HashSet<String> = self.shared.iter().map(|array| array.name.clone()).collect();
        for &(owner, number) in &dynamic {
            let variable = self.variable(owner, number);
            if self.placed.insert((owner, number), offset).is_none() && known.insert(variable.name.clone()) {
                self.shared.push(SharedArray::new(&variable.name, offset, 0));
            }
        }
        for frame in &mut self.frames {
            for (number, place) in (0u32..).zip(&mut frame.places) {
                if let (Address::Unplaced, Some(&offset)) = (*place, self.placed.get(&(Some(frame.function), number))) {
                    *place = Address::Shared(offset);
                }
            }
        }
        self.dynamic = dynamic;
    }

    /// Returns the position where all dynamic arrays start. It has the strictest of their alignments.
    pub fn dynamic_offset(&self) -> u32 {
        let align = self.dynamic.iter().map(|&(owner, number)| self.variable(owner, number).align);
        let align = u64::from(align.fold(16, u32::max));
        self.shared_bytes.next_multiple_of(align).min(u64::from(u32::MAX)) as u32
    }

    /// Returns the place of a module's variable, if the kernel can use it.
    pub fn find(&self, name: &str) -> Option<Address> {
        let number = self.inner.variable(name)?;
        match self.variable(None, number).space {
            Space::Shared => self.placed.get(&(None, number)).copied().map(Address::Shared),
            Space::Global | Space::Constant => Some(Address::Module(number)),
            _ => None,
        }
    }
}

/// An array in a kernel's shared memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedArray {
    /// The name in the PTX, as the compiler mangled it: `_ZZ6matmulE2As`.
    pub name: String,
    /// The name in the source, as far as it can be recovered: `As`.
    pub source_name: String,
    /// The position in the block's shared memory, in bytes.
    pub offset: u32,
    /// The size in bytes. It is 0 for the dynamic array, which takes the rest.
    pub bytes: u32,
}

impl SharedArray {
    pub fn new(name: &str, offset: u32, bytes: u32) -> Self {
        Self { name: name.into(), source_name: source_name(name), offset, bytes }
    }
}

/// Returns the source name that a mangled name contains: `_ZZ6matmulE2As` gives `As`, and `tile` gives `tile`.
fn source_name(mangled: &str) -> String {
    // It is the last "<length><name>" of an Itanium name. NVRTC names a kernel's static variables that way.
    if mangled.starts_with("_Z") {
        for start in (0..mangled.len()).rev() {
            let Some(rest) = mangled.get(start..) else { continue };
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let before = mangled.as_bytes()[start.saturating_sub(1)];
            if digits == 0 || before.is_ascii_digit() {
                continue;
            }
            let name = &rest[digits..];
            // A discriminator such as `_0` may follow.
            if let Ok(length) = rest[..digits].parse::<usize>()
                && length > 0
                && let Some(found) = name.get(..length)
                && (name.len() == length || name[length..].starts_with('_') || name[length..].starts_with('E'))
            {
                return found.into();
            }
        }
    }
    mangled.into()
}
