//! The post office of a run: messages between ranks, and the word that one of them has failed.
//!
//! Ranks that are threads of one process share it. Ranks of other processes are reached through [`Wires`]. Nobody waits
//! for a rank that has failed: whoever waits for any message gets the failure's sentence instead.

use std::collections::{HashMap, VecDeque};
use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use std::{fmt, io, thread};

use anyhow::{Result, anyhow, bail, ensure};

use super::grid::Line;
use super::wires::{Frame, Kind, LONGEST, SILENCE, Wires};

/// What a message is, so that the receiver can tell whether it is the one it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label(pub u64);

impl Label {
    /// A panel on its way along a line of the grid.
    pub fn panel(line: Line, panel: usize) -> Self {
        Self(1 << 62 | u64::from(line == Line::Column) << 32 | panel as u64)
    }

    /// Part of the exchange of this number.
    pub fn exchange(number: u64) -> Self {
        Self(number)
    }

    /// The name under which a line's GPUs find each other.
    pub fn name_of(line: Line) -> Self {
        Self(1 << 61 | u64::from(line == Line::Column))
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let matrix = if self.0 >> 32 & 1 == 0 { 'A' } else { 'B' };
        match self.0 >> 61 {
            0 => write!(f, "exchange {}", self.0),
            1 => write!(f, "a line's name"),
            _ => write!(f, "panel {} of {matrix}", self.0 as u32),
        }
    }
}

/// A message with its label.
type Message = (Label, Arc<[u8]>);

#[derive(Default)]
struct State {
    /// By sender and receiver.
    queues: HashMap<(usize, usize), VecDeque<Message>>,
    /// What is to be said of the first rank that has failed.
    failure: Option<String>,
    closed: bool,
}

/// How often a rank says that it lives.
const BEAT: Duration = Duration::from_secs(2);

/// The post office.
#[derive(Default)]
pub struct Post {
    state: Mutex<State>,
    changed: Condvar,
    /// How other processes are reached; nothing if all ranks are threads of this one.
    wires: OnceLock<Wires>,
}

impl Post {
    /// The post office of a process that is one rank. It listens to its connections and says every two seconds that it lives: if a
    /// connection ends, or nothing is heard of it for ten seconds, all others are told, and all end.
    pub fn connected(wires: Wires) -> io::Result<Arc<Self>> {
        let readers = wires.readers()?;
        let post = Arc::new(Self { wires: wires.into(), ..Self::default() });
        for (peer, stream) in readers {
            let post = post.clone();
            thread::spawn(move || post.listen(peer, &stream));
        }
        let beating = post.clone();
        thread::spawn(move || {
            while !beating.is_closed() {
                beating.tell(Kind::Beat, None, &[]);
                thread::sleep(BEAT);
            }
        });
        Ok(post)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells all other processes something of a rank, which need not hear it, or of this one.
    fn tell(&self, kind: Kind, of: Option<usize>, bytes: &[u8]) {
        if let Some(wires) = self.wires.get() {
            let of = of.unwrap_or(wires.rank);
            wires.to_all(&Frame::new(kind, of, bytes), of);
        }
    }

    /// Listens to one connection until the rank at its other end says good-bye or is gone.
    fn listen(&self, peer: usize, stream: &TcpStream) {
        loop {
            let frame = match Frame::read(stream, LONGEST) {
                Ok(frame) => frame,
                Err(error) => {
                    let silent = matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut);
                    let what = if silent {
                        format!("has not been heard of for {} s", SILENCE.as_secs())
                    } else {
                        "has ended without a word".to_owned()
                    };
                    let text = format!("rank {peer} {what}; look at what it printed last, and start all ranks again");
                    self.fail(peer, &text);
                    return;
                }
            };
            match frame.kind {
                Kind::Message => self.send(frame.from, frame.to, (Label(frame.label), frame.bytes)),
                // What rank 0 hears, it passes on.
                Kind::Failed => drop(self.fail(frame.from, &String::from_utf8_lossy(&frame.bytes))),
                Kind::Bye => return,
                Kind::Hello | Kind::Welcome | Kind::Beat => {}
            }
        }
    }

    /// Puts a message into the box of a rank of this process, or sends it on to the rank's own.
    fn send(&self, from: usize, to: usize, (label, bytes): Message) {
        match self.wires.get() {
            Some(wires) if wires.rank != to => {
                wires.write(&Frame { kind: Kind::Message, from, to, label: label.0, bytes });
            }
            _ => {
                self.state().queues.entry((from, to)).or_default().push_back((label, bytes));
                self.changed.notify_all();
            }
        }
    }

    fn receive(&self, from: usize, to: usize) -> Result<Message> {
        let mut state = self.state();
        loop {
            if let Some(message) = state.queues.get_mut(&(from, to)).and_then(VecDeque::pop_front) {
                return Ok(message);
            }
            if let Some(failure) = &state.failure {
                bail!("{failure}");
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Says that a rank has failed, here and in all other processes, and gives what everybody is told. The first failure counts:
    /// later ones follow from it. After [`close`](Self::close) none does.
    pub fn fail(&self, rank: usize, text: &str) -> String {
        let mut state = self.state();
        if state.failure.is_none() && !state.closed {
            // The others come first, because whoever waits here may end the process at once.
            self.tell(Kind::Failed, Some(rank), text.as_bytes());
            state.failure = Some(text.to_owned());
            self.changed.notify_all();
        }
        state.failure.clone().unwrap_or_else(|| text.to_owned())
    }

    /// What is said of the rank that has failed, if one has.
    pub fn failure(&self) -> Option<String> {
        self.state().failure.clone()
    }

    /// The run is over: connections that end from here on are no failures.
    pub fn close(&self) {
        self.state().closed = true;
        self.tell(Kind::Bye, None, &[]);
    }

    /// Whether the run is over.
    pub fn is_closed(&self) -> bool {
        self.state().closed
    }

    /// Messages that were sent and never received.
    pub fn left_over(&self) -> usize {
        self.state().queues.values().map(VecDeque::len).sum()
    }
}

/// One rank's view of the post office.
#[derive(Clone)]
pub struct Member {
    /// This rank, from 0 on.
    pub rank: usize,
    /// How many there are.
    pub world: usize,
    post: Arc<Post>,
    exchanges: u64,
}

impl Member {
    /// A rank of a world that shares this post office.
    pub fn new(rank: usize, world: usize, post: Arc<Post>) -> Self {
        Self { rank, world, post, exchanges: 0 }
    }

    /// The post office.
    pub fn post(&self) -> &Arc<Post> {
        &self.post
    }

    /// Sends a message to another rank.
    pub fn send(&self, to: usize, label: Label, bytes: Arc<[u8]>) {
        self.post.send(self.rank, to, (label, bytes));
    }

    /// Waits for a message of this label from another rank. Fails if another message comes, or a rank has failed.
    pub fn receive(&self, from: usize, label: Label) -> Result<Arc<[u8]>> {
        let (found, bytes) = self.post.receive(from, self.rank)?;
        ensure!(
            found == label,
            "rank {} waits for {label} from rank {from} and gets {found}; start all ranks with the same program and options",
            self.rank
        );
        Ok(bytes)
    }

    /// Gives every rank the bytes of every rank, in the order of ranks. All must call it.
    pub fn exchange(&mut self, bytes: &[u8]) -> Result<Vec<Arc<[u8]>>> {
        self.exchanges += 1;
        let label = Label::exchange(self.exchanges);
        if self.rank != 0 {
            self.send(0, label, bytes.into());
            return split(&self.receive(0, label)?, self.world);
        }
        let mut all: Vec<Arc<[u8]>> = vec![bytes.into()];
        for rank in 1..self.world {
            all.push(self.receive(rank, label)?);
        }
        let joined: Arc<[u8]> = all
            .iter()
            .flat_map(|one| (one.len() as u64).to_le_bytes().into_iter().chain(one.iter().copied()))
            .collect();
        for rank in 1..self.world {
            self.send(rank, label, joined.clone());
        }
        Ok(all)
    }

    /// Waits until all ranks have come here.
    pub fn barrier(&mut self) -> Result<()> {
        self.exchange(&[]).map(drop)
    }
}

/// The parts of an exchange, each behind its length.
fn split(mut joined: &[u8], world: usize) -> Result<Vec<Arc<[u8]>>> {
    let broken = || anyhow!("an exchange of the ranks is broken; start all ranks with the same program");
    (0..world)
        .map(|_| {
            let (length, rest) = joined.split_first_chunk::<8>().ok_or_else(broken)?;
            let (one, rest) = rest.split_at_checked(u64::from_le_bytes(*length) as usize).ok_or_else(broken)?;
            joined = rest;
            Ok(one.into())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exchange_gives_all_to_all_and_leaves_nothing() {
        let post = Arc::new(Post::default());
        let threads: Vec<_> = (0..5)
            .map(|rank| {
                let mut member = Member::new(rank, 5, post.clone());
                thread::spawn(move || {
                    member.barrier().unwrap();
                    member.exchange(&vec![rank as u8; rank]).unwrap()
                })
            })
            .collect();
        for thread in threads {
            let all: Vec<Vec<u8>> = thread.join().unwrap().iter().map(|one| one.to_vec()).collect();
            assert_eq!(all, [vec![], vec![1], vec![2; 2], vec![3; 3], vec![4; 4]]);
        }
        assert_eq!(post.left_over(), 0);
    }

    #[test]
    fn a_failure_ends_the_wait_of_all_and_the_first_one_counts() {
        let post = Arc::new(Post::default());
        let waiting = Member::new(0, 3, post.clone());
        let waits = thread::spawn(move || waiting.receive(1, Label::exchange(1)).unwrap_err().to_string());
        thread::sleep(Duration::from_millis(20));
        assert_eq!(post.fail(2, "rank 2 is gone"), "rank 2 is gone");
        assert_eq!(post.fail(0, "rank 0 waits in vain"), "rank 2 is gone");
        assert_eq!(waits.join().unwrap(), "rank 2 is gone");
        // The end of a connection after the end of the run is none.
        let post = Post::default();
        post.close();
        post.fail(1, "");
        assert_eq!(post.failure(), None);
    }

    #[test]
    fn another_message_than_the_expected_one_is_named() {
        let post = Arc::new(Post::default());
        let [one, two] = [0, 1].map(|rank| Member::new(rank, 2, post.clone()));
        one.send(1, Label::panel(Line::Column, 7), [].into());
        let error = two.receive(0, Label::panel(Line::Row, 7)).unwrap_err().to_string();
        assert!(error.contains("waits for panel 7 of A from rank 0 and gets panel 7 of B"), "{error}");
    }
}
