//! What a launch shows that no line of a kernel does: how its block is shaped, how much of C all threads store together, and arrays that
//! begin at one byte.

use std::collections::BTreeSet;

use simt::Location;

use super::asked::Asked;
use super::element::Origins;
use findings::diagnostic::Mark;
use findings::element::is_name;
use findings::places::lines_of;
use system::grouped;

impl Origins {
    /// The number of the thread in a direction that has one thread only, if the kernel asks for it.
    pub fn flat(&self) -> Option<String> {
        let (_, block) = self.launched();
        let asks = |name: &str| self.instructions().any(|text| text.contains(name));
        let [x, y] = [block.x, block.y];
        let flat =
            [("y", y, "%tid.y"), ("x", x, "%tid.x")].into_iter().find(|(_, edge, name)| *edge == 1 && asks(name));
        flat.filter(|_| x != y)
            .map(|(axis, ..)| format!("the block has {x}×{y} threads, so threadIdx.{axis} is always 0"))
    }

    /// How many elements of C were stored, by how many threads.
    pub fn stored(&self, asked: &Asked, stored: usize) -> String {
        let (blocks, block) = self.launched();
        let deep = if block.z > 1 { format!("×{}", block.z) } else { String::new() };
        let threads = format!("{}×{}{deep}", block.x, block.y);
        let all = asked.rows() * asked.columns();
        let [blocks, stored, all] = [blocks as u64, stored as u64, all].map(grouped);
        let of = if blocks == "1" { "one block".to_owned() } else { format!("{blocks} blocks") };
        format!("{of} of {threads} threads stored {stored} of the {all} elements of C")
    }

    /// Arrays without a size that begin at one byte of shared memory: their names, and the places that declare them in the file of
    /// another place.
    pub fn arrays_at_one_byte(&self, file: &Location) -> Option<(String, Vec<Mark>)> {
        let names: BTreeSet<&str> = self.dynamic_arrays().collect();
        let names: Vec<&str> = names.into_iter().collect();
        let [before @ .., last] = &names[..] else { return None };
        let lines = lines_of(file);
        let declares = |name: &str| {
            let is_it = |(_, text): &(u32, &String)| {
                text.contains("extern") && text.split(|c| !is_name(c)).any(|word| word == name)
            };
            let (line, _) = (1..).zip(lines.iter()).find(is_it)?;
            let at = Location { line: Some(line), column: None, calls: Box::default(), ..file.clone() };
            Some(Mark::at(&at, format!("{name} is declared here, without a size")))
        };
        let marks = names.iter().filter_map(|name| declares(name)).collect();
        let both = if before.len() == 1 { "both" } else { "all" };
        let note = format!("{} and {last} {both} begin at the same byte of shared memory", before.join(", "));
        (!before.is_empty()).then_some((note, marks))
    }
}
