//! One `--arg`: an array such as `in A f32[1024]`, or a number such as `i32 = 1024`.

use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use simt::{Arg, DevicePointer, GlobalMemory, Param};
use system::{escape, escaped, files, grouped, io_reason};

use crate::number::Number;

/// How an argument is written, for messages.
pub const FORM: &str = "'in f32[1024]', 'out C f32[1024]', 'u8[64] = 0' or 'i32 = 1024'";
/// The most bytes that the arrays of one launch may have.
pub const MOST_BYTES: u64 = 4 << 30;

/// What an array is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Filled; the kernel only reads it.
    In,
    /// Not filled; the kernel writes each of its elements.
    Out,
    /// Filled; the kernel may read and write it.
    Both,
}

/// What is given for the elements of an array, or is expected of them.
#[derive(Clone, Debug, PartialEq)]
enum Values {
    Seed,
    /// One number for all elements, or one for each.
    Given(Vec<u8>),
    /// 0, 1, 2 and so on.
    Counted,
}

/// An argument as it was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// As it was written.
    pub text: String,
    /// The name that it was given.
    pub name: Option<String>,
    pub number: Number,
    pub role: Role,
    /// Elements of the array; `None` for an argument that is a number.
    pub count: Option<u64>,
    values: Values,
    expected: Option<Values>,
}

impl Argument {
    /// Reads an argument, and the files that it names.
    pub fn read(text: &str) -> Result<Self> {
        Self::parsed(text).with_context(|| format!("--arg '{}' cannot be read", escape(text)))
    }

    fn parsed(text: &str) -> Result<Self> {
        if let Some(fields) = text.trim().strip_prefix('{').and_then(|text| text.strip_suffix('}')) {
            let (number, values) = (Number::BYTE, Values::Given(structure(fields)?));
            let text = text.to_owned();
            return Ok(Self { text, name: None, number, role: Role::Both, count: None, values, expected: None });
        }
        let (left, values) = match text.find('=') {
            Some(at) => (&text[..at], Some(&text[at..])),
            None => (text, None),
        };
        let mut words: Vec<&str> = left.split_whitespace().collect();
        let role = match words.first() {
            Some(&"in") => Role::In,
            Some(&"out") => Role::Out,
            _ => Role::Both,
        };
        if role != Role::Both {
            words.remove(0);
        }
        let (name, kind) = match words[..] {
            [kind] => (None, kind),
            [name, kind] => (Some(name.to_owned()), kind),
            _ => bail!("give a type and perhaps a name, as in {FORM}"),
        };
        let (kind, count) = match kind.strip_suffix(']').and_then(|kind| kind.split_once('[')) {
            Some((kind, count)) => {
                let count = count.parse::<u64>().ok().filter(|&count| count > 0);
                (kind, Some(count.with_context(|| format!("write the number of elements, as in {FORM}"))?))
            }
            None => (kind, None),
        };
        let number = Number::named(kind).with_context(|| {
            format!("`{kind}` is no type; take i8 to i64, u8 to u64, f16, bf16, f32 or f64, as in {FORM}")
        })?;
        let (given, expected) = match values.map(|values| (values.trim_start_matches('='), values.len())) {
            None => (None, None),
            Some((value, length)) if length - value.len() == 2 => (None, Some(Values::read(value.trim(), number)?)),
            Some((value, _)) => (Some(Values::read(value.trim(), number)?), None),
        };
        let Some(elements) = count else {
            ensure!(
                role == Role::Both,
                "a number is neither in nor out; an array has its size in brackets, as in {FORM}"
            );
            ensure!(expected.is_none(), "a number is given with one =, as in 'i32 = 1024'");
            let given = given.with_context(|| format!("give its value, as in '{kind} = 1'"))?;
            ensure!(given != Values::Counted, "0.. fills an array; a number has one value");
            let text = text.to_owned();
            return Ok(Self { text, name, number, role, count, values: given, expected });
        };
        ensure!(
            role != Role::Out || given.is_none(),
            "an out array is not filled; == gives the values that are expected"
        );
        for values in [&given, &expected].into_iter().flatten() {
            if let Values::Given(bytes) = values {
                let found = (bytes.len() / number.bytes) as u64;
                ensure!(
                    found == 1 || found == elements,
                    "{found} values are given for {elements} elements; give one, or one for each"
                );
            }
        }
        ensure!(
            elements.saturating_mul(number.bytes as u64) <= MOST_BYTES,
            "it has more than {} bytes; choose a smaller array",
            grouped(MOST_BYTES)
        );
        let values = given.unwrap_or(Values::Seed);
        Ok(Self { text: text.to_owned(), name, number, role, count, values, expected })
    }

    /// Fails unless a parameter can be given this argument.
    pub fn check(&self, position: usize, param: &Param, called: &str) -> Result<()> {
        let fits = match (&self.values, self.count) {
            (_, Some(_)) => takes_pointer(param),
            (Values::Given(bytes), None) if is_structure(param) => bytes.len() == param.bytes as usize,
            (Values::Given(bytes), None) if bytes.len() > self.number.bytes => false,
            _ => self.number.fits(param.kind) && param.bytes as usize == self.number.bytes,
        };
        ensure!(
            fits,
            "--arg '{}' does not fit parameter {position}, {called}, which has {} bytes of type {}; {}",
            escape(&self.text),
            param.bytes,
            param.kind,
            if is_structure(param) {
                format!("give all its members, as in '{{i32 1, f32 2}}' for 8 bytes; here it is {} bytes", param.bytes)
            } else if takes_pointer(param) {
                "give an array, as in 'in f32[1024]', or a number of 8 bytes, as in 'u64 = 1'".to_owned()
            } else {
                format!("give a number, as in '{} = 1'", example(param))
            }
        );
        Ok(())
    }

    /// Puts the argument into memory, if it is an array.
    pub fn place(&self, name: &str, seed: u64, memory: &mut GlobalMemory) -> Result<Arg> {
        let Some(count) = self.count else {
            let Values::Given(bytes) = &self.values else { bail!("--arg '{}' has no value", escape(&self.text)) };
            return Ok(Arg::Bytes(bytes.clone()));
        };
        let size = self.number.bytes as u64;
        let pointer = memory.alloc(name, count * size, size as u32)?;
        if self.role == Role::Out {
            memory.fill(pointer, 0xff_u8)?;
        } else {
            self.pieces(&self.values, seed, |at, piece| Ok(memory.write_bytes(pointer.offset(at as i64), piece)?))?;
        }
        Ok(Arg::Pointer(pointer))
    }

    /// Calls `each` with pieces of the array as it should be, and the byte at which each begins.
    fn pieces(&self, values: &Values, seed: u64, mut each: impl FnMut(u64, &[u8]) -> Result<()>) -> Result<()> {
        let (count, size) = (self.count.unwrap_or(0), self.number.bytes as u64);
        let own = |bytes: [u8; 8]| bytes.into_iter().take(size as usize);
        for first in (0..count).step_by(PIECE) {
            let numbers = first..count.min(first + PIECE as u64);
            let piece: Vec<u8> = match values {
                Values::Seed => numbers.flat_map(|at| own(self.number.drawn(seed, at))).collect(),
                Values::Counted => numbers.flat_map(|at| own(self.number.counted(at))).collect(),
                Values::Given(one) if one.len() == self.number.bytes => one.repeat(numbers.count()),
                Values::Given(all) => all[(numbers.start * size) as usize..(numbers.end * size) as usize].to_vec(),
            };
            each(first * size, &piece)?;
        }
        Ok(())
    }

    /// The first element that is not as it should be after the launch, and how many there are: those that differ from what is
    /// expected, or that the kernel has changed in an `in` array.
    pub fn wrong(&self, at: DevicePointer, seed: u64, tolerance: f64, memory: &GlobalMemory) -> Result<Option<Wrong>> {
        let (wanted, changed) = match (&self.expected, self.role) {
            (Some(expected), _) => (expected, false),
            (None, Role::In) => (&self.values, true),
            (None, _) => return Ok(None),
        };
        let mut wrong: Option<Wrong> = None;
        let size = self.number.bytes;
        self.pieces(wanted, seed, |first, expected| {
            let mut found = vec![0; expected.len()];
            memory.read_bytes(at.offset(first as i64), &mut found)?;
            for (number, (found, expected)) in (0..).zip(found.chunks_exact(size).zip(expected.chunks_exact(size))) {
                if changed && found == expected || !changed && self.number.agrees(found, expected, tolerance) {
                    continue;
                }
                let element = first / size as u64 + number;
                let [found, expected] = [found, expected].map(|bytes| self.number.shown(bytes));
                wrong.get_or_insert(Wrong { element, found, expected, changed, count: 0 }).count += 1;
            }
            Ok(())
        })?;
        Ok(wrong)
    }
}

/// Elements that are worked on at a time.
const PIECE: usize = 1 << 16;

/// Elements that are not as they should be.
#[derive(Clone, Debug, PartialEq)]
pub struct Wrong {
    /// The first of them.
    pub element: u64,
    pub found: String,
    pub expected: String,
    /// Whether they differ from what was there before the launch.
    pub changed: bool,
    pub count: u64,
}

impl Values {
    fn read(text: &str, number: Number) -> Result<Self> {
        if text == "0.." {
            return Ok(Self::Counted);
        }
        let path = Path::new(text);
        if !path.is_file() {
            ensure!(!text.is_empty(), "give a value, as in '= 1'");
            let is_name = text.starts_with(|c: char| c.is_alphabetic() || c == '/') && !text.contains(',');
            let list = number.list(text);
            ensure!(list.is_ok() || !is_name, "`{}` is neither a number nor a file", escape(text));
            return list.map(Self::Given);
        }
        let unreadable =
            |error: std::io::Error| anyhow::anyhow!("{} cannot be read ({})", escaped(path), io_reason(&error));
        let bytes = if path.extension().is_some_and(|ending| ending == "bin") {
            files::bytes(path).map_err(unreadable)?
        } else {
            let text = files::text(path).map_err(unreadable)?;
            number.list(&text).with_context(|| format!("{} holds something else than numbers", escaped(path)))?
        };
        ensure!(
            !bytes.is_empty() && bytes.len() % number.bytes == 0,
            "{} has {} bytes, which is no whole number of {}",
            escaped(path),
            bytes.len(),
            number.name
        );
        Ok(Self::Given(bytes))
    }
}

/// Whether a parameter is passed as bytes: a structure, or a type that PTX does not know.
pub fn is_structure(param: &Param) -> bool {
    param.kind.bytes() != param.bytes
}

/// Whether a parameter may be an address.
pub fn takes_pointer(param: &Param) -> bool {
    !is_structure(param) && Number::named("u64").is_some_and(|pointer| pointer.fits(param.kind))
}

/// The members of a structure, each a type and a number, as a C compiler lays them out.
fn structure(fields: &str) -> Result<Vec<u8>> {
    let (mut bytes, mut align) = (vec![], 1);
    for field in fields.split(',') {
        let words: Vec<&str> = field.split_whitespace().collect();
        let [kind, value] = words[..] else { bail!("write its members as in '{{i32 1, f32 2}}'") };
        let number = Number::named(kind).with_context(|| format!("`{}` is no type", escape(kind)))?;
        align = align.max(number.bytes);
        bytes.resize(bytes.len().next_multiple_of(number.bytes), 0);
        bytes.extend(number.read(value)?);
    }
    bytes.resize(bytes.len().next_multiple_of(align), 0);
    Ok(bytes)
}

/// A type that a parameter takes, for messages.
pub fn example(param: &Param) -> &'static str {
    let of_type = ["i32", "f32", "f64", "i64", "i16", "i8"].into_iter();
    of_type.filter_map(Number::named).find(|number| number.fits(param.kind)).map_or("u8", |number| number.name)
}
