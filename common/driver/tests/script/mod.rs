//! Programs that call the driver, written as text: statements with `;` between them, each the name of a function and its arguments.
//!
//! An argument is a number, a variable (`x`, a place of 512 bytes that is zero at first, of which it is the first 8), its address
//! (`&x`), either plus a number (`x+8`), a text in quotes (`PTX` in it is the
//! text of the kernels, and `PTX~a~b` the same with b in place of a), `[a b]` (the address of a list of values), or `(a b)` (the address of a
//! list of addresses of values, as a launch takes them). A statement must answer 0, unless it begins with `?`; `until` repeats it
//! until it does. Besides the driver's functions there are `launch KERNEL GRID BLOCK SHARED STREAM (..)`, `zeros x BYTES`,
//! `back x BYTES` (to the host), `peek ADDRESS`, `poke ADDRESS`,
//! and `callback STREAM ADDRESS`, which lets a stream call a function that reads there.

#![allow(unsafe_code, dead_code, reason = "calls the C interface; not every program that includes this uses all of it")]

use std::collections::HashMap;

/// The kernels of all programs.
pub const PTX: &str = include_str!("kernels.ptx");

/// A driver and the variables of a program. What is allocated here is never freed, because the driver has its address.
pub struct Script {
    address: Box<dyn Fn(&str) -> usize>,
    pub variables: HashMap<String, &'static mut [u64; 64]>,
}

impl Script {
    /// A program with this driver, and a variable `host` with the address of 1 MiB of sevens, at the begin of a page.
    pub fn new(address: impl Fn(&str) -> usize + 'static) -> Self {
        let mut script = Self { address: Box::new(address), variables: HashMap::new() };
        script.place("host")[0] = (vec![7u8; (1 << 20) + 4096].leak().as_ptr() as u64).next_multiple_of(4096);
        script
    }

    /// A variable.
    pub fn place(&mut self, name: &str) -> &mut [u64; 64] {
        self.variables.entry(name.to_owned()).or_insert_with(|| Box::leak(Box::new([0; 64])))
    }

    /// Runs statements, and returns the last answer.
    #[track_caller]
    pub fn run(&mut self, program: &str) -> u32 {
        let mut code = 0;
        for statement in program.split(';').map(str::trim).filter(|statement| !statement.is_empty()) {
            let (may_fail, statement) = statement.strip_prefix('?').map_or((false, statement), |rest| (true, rest));
            let (until, statement) = statement.strip_prefix("until ").map_or((false, statement), |rest| (true, rest));
            code = self.statement(statement);
            while until && code != 0 {
                code = self.statement(statement);
            }
            assert!(may_fail || code == 0, "{statement} answers {code}");
        }
        code
    }

    fn statement(&mut self, statement: &str) -> u32 {
        let (name, rest) = statement.split_once(' ').unwrap_or((statement, ""));
        match name {
            "launch" => {
                let (kernel, rest) = rest.split_once(' ').expect("a kernel and its launch");
                let found = self.run(&format!("?cuModuleGetFunction &kernel module \"{kernel}\""));
                if found != 0 {
                    self.place("kernel")[0] = 0;
                }
                let [grid, block, shared, stream, args] = self.values(rest)[..] else { panic!("{statement}") };
                let kernel = self.place("kernel")[0];
                self.call("cuLaunchKernel", &[kernel, grid, 1, 1, block, 1, 1, shared, stream, args, 0])
            }
            "zeros" => {
                let (name, bytes) = rest.split_once(' ').expect("a variable and a size");
                self.run(&format!("cuMemAlloc_v2 &{name} {bytes}; cuMemsetD8_v2 {name} 0 {bytes}; cuCtxSynchronize"))
            }
            "back" => {
                self.run(&format!("?cuMemcpyDtoH_v2 host {rest}"));
                0
            }
            // SAFETY: memory that the driver has given to the host.
            "peek" => unsafe {
                std::hint::black_box((self.values(rest)[0] as *const u8).read_volatile());
                0
            },
            // A function that a stream calls, and that reads memory.
            "callback" => {
                extern "C" fn look(address: u64) {
                    // SAFETY: the address of memory that the driver has given to the host.
                    std::hint::black_box(unsafe { (address as *const u8).read_volatile() });
                }
                let [stream, address] = self.values(rest)[..] else { panic!("{statement}") };
                self.call("cuLaunchHostFunc", &[stream, look as extern "C" fn(u64) as usize as u64, address])
            }
            "poke" => {
                // SAFETY: as above.
                unsafe { (self.values(rest)[0] as *mut u8).write_volatile(1) };
                0
            }
            _ => {
                let values = self.values(rest);
                self.call(name, &values)
            }
        }
    }

    fn call(&self, name: &str, args: &[u64]) -> u32 {
        type Function = extern "C" fn(u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64) -> u32;
        let address = (self.address)(name);
        assert_ne!(address, 0, "the driver has no {name}");
        let mut a = [0u64; 12];
        a[..args.len()].copy_from_slice(args);
        // SAFETY: a function that takes fewer arguments ignores the others.
        let function = unsafe { std::mem::transmute::<usize, Function>(address) };
        function(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11])
    }

    /// The arguments in a text.
    fn values(&mut self, text: &str) -> Vec<u64> {
        let (mut values, mut rest) = (vec![], text.trim());
        while let Some(first) = rest.chars().next() {
            let enclosed = usize::from("\"([".contains(first));
            let mut depth = 0;
            let end = match first {
                '"' => rest[1..].find('"').map(|at| at + 2),
                '(' | '[' => rest
                    .find(|c| {
                        depth += i32::from("([".contains(c)) - i32::from(")]".contains(c));
                        depth == 0
                    })
                    .map(|at| at + 1),
                _ => rest.find(' '),
            };
            let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
            let inner = &word[enclosed..word.len() - enclosed];
            values.push(match first {
                '"' => {
                    let mut parts = inner.split('~');
                    let text = parts.next().unwrap_or_default().replace("PTX", PTX);
                    let text =
                        parts.next().zip(parts.next()).map_or(text.clone(), |(one, other)| text.replace(one, other));
                    format!("{text}\0").leak().as_ptr() as u64
                }
                '(' => {
                    let places = self.values(inner).leak().iter().map(|value| std::ptr::from_ref(value) as u64);
                    places.collect::<Vec<_>>().leak().as_ptr() as u64
                }
                '[' => self.values(inner).leak().as_ptr() as u64,
                _ => self.value(word),
            });
            rest = after.trim_start();
        }
        values
    }

    fn value(&mut self, word: &str) -> u64 {
        let (word, more) = word.split_once('+').unwrap_or((word, "0"));
        let number = |text: &str| {
            let (text, shift) = text.split_once("<<").unwrap_or((text, "0"));
            let hex = text.strip_prefix("0x").map(|digits| u64::from_str_radix(digits, 16).unwrap());
            Some(hex.or_else(|| text.parse::<i64>().ok().map(i64::cast_unsigned))? << shift.parse::<u32>().unwrap())
        };
        let known = number(word).unwrap_or_else(|| match word.strip_prefix('&') {
            Some(name) => std::ptr::from_mut(self.place(name)) as u64,
            None => self.place(word)[0],
        });
        known + number(more).expect("a number after +")
    }
}

/// What the variables of a program show: `u64 x`, `i32 x`, `u8 x 8`, `u32 x 4`, `sum x 100` (of floating-point numbers), `same x y`,
/// `aligned x 256` or `below x 50` (a time in milliseconds).
pub fn shown(script: &mut Script, what: &str) -> String {
    let words: Vec<&str> = what.split_whitespace().collect();
    let [kind, name, rest @ ..] = &words[..] else { return String::new() };
    let count = rest.first().and_then(|count| count.parse().ok()).unwrap_or(0);
    let other = rest.first().map_or(0, |other| script.place(other)[0]);
    let place = script.place(name);
    let halves: Vec<u32> = place.iter().flat_map(|&value| [value as u32, (value >> 32) as u32]).collect();
    match *kind {
        "u64" => place[0].to_string(),
        "i32" => (place[0] as i32).to_string(),
        "u8" => format!("{:?}", &place.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>()[..count]),
        "u32" => format!("{:?}", &halves[..count]),
        "sum" => halves[..count].iter().map(|&bits| f32::from_bits(bits)).sum::<f32>().to_string(),
        "same" => (place[0] == other).to_string(),
        "aligned" => place[0].is_multiple_of(count as u64).to_string(),
        _ => (0.0..count as f32).contains(&f32::from_bits(halves[0])).to_string(),
    }
}

/// Asks the questions of a part of a text: those below the head `== PART`. Each answer is the question, its code and its effect.
pub fn answers(script: &mut Script, text: &str, part: &str) -> Vec<String> {
    let of_part = text
        .lines()
        .skip_while(|line| *line != format!("== {part}"))
        .skip(1)
        .take_while(|line| !line.starts_with("=="));
    let mut answers = vec![];
    for line in of_part.filter(|line| !line.is_empty()) {
        let (question, rest) = line.split_once(": ").unwrap_or(("", line));
        let (program, what) = rest.split_once(" -> ").unwrap_or((rest, ""));
        let (before, last) = program.rsplit_once("; ").unwrap_or(("", program));
        script.run(before);
        let code = script.run(&format!("?{last}"));
        if !question.is_empty() {
            answers.push(format!("{question}: {code} {}", shown(script, what)).trim_end().to_owned());
        }
    }
    answers
}

/// The parts of a text, each of which is asked in a process of its own.
pub fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| line.strip_prefix("== "))
}
