//! Rooms and what they use: circles, and the floor on which each room stands.

use std::collections::BTreeSet;

/// A source file of a crate.
#[derive(Clone, Debug)]
pub struct Room {
    /// Its path within the crate, with `/` between the parts.
    pub name: String,
    /// The first sentence of its documentation.
    pub idea: String,
    /// The other files of the crate that it uses: positions in the list of rooms.
    pub uses: BTreeSet<usize>,
}

/// Groups of files that use each other around a circle, each sorted by name.
#[cfg(test)]
pub fn circles(rooms: &[Room]) -> Vec<Vec<String>> {
    let reaches: Vec<BTreeSet<usize>> = (0..rooms.len()).map(|room| reached(rooms, room)).collect();
    let mut found = BTreeSet::new();
    for (room, reached) in reaches.iter().enumerate() {
        if reached.contains(&room) {
            let around = reached.iter().filter(|&&other| reaches[other].contains(&room));
            let mut names: Vec<String> = around.map(|&other| rooms[other].name.clone()).collect();
            names.sort();
            found.insert(names);
        }
    }
    found.into_iter().collect()
}

/// All that a room uses, directly or through others; itself only around a circle.
#[cfg(test)]
fn reached(rooms: &[Room], from: usize) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut open: Vec<usize> = rooms[from].uses.iter().copied().collect();
    while let Some(room) = open.pop() {
        if found.insert(room) {
            open.extend(&rooms[room].uses);
        }
    }
    found
}

/// Every room with its floor, lowest first: 0 uses no other file, and each of the others stands just above the highest
/// that it uses. Rooms around a circle share the floor that they have after as many rounds as there are rooms.
pub fn floors(rooms: &[Room]) -> Vec<(&Room, usize)> {
    let mut floor = vec![0; rooms.len()];
    for _ in 0..rooms.len() {
        for (number, room) in rooms.iter().enumerate() {
            floor[number] = room.uses.iter().map(|&used| floor[used] + 1).max().unwrap_or(0);
        }
    }
    let mut sorted: Vec<(&Room, usize)> = rooms.iter().zip(floor).collect();
    sorted.sort_by(|(one, a), (other, b)| a.cmp(b).then_with(|| one.name.cmp(&other.name)));
    sorted
}
