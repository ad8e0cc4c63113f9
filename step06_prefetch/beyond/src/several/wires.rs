//! What goes over the connections between processes: each rank is connected with rank 0, which passes messages on.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Silence after which a rank counts as dead.
pub const SILENCE: Duration = Duration::from_secs(10);

/// What a frame on a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The first of a rank: who it is and how it was started.
    Hello,
    /// The answer: all are there.
    Welcome,
    /// A message for a rank.
    Message,
    /// A rank has failed; the frame's sender is that rank, its text the sentence.
    Failed,
    /// The rank lives.
    Beat,
    /// The rank has done its work.
    Bye,
}

const KINDS: [Kind; 6] = [Kind::Hello, Kind::Welcome, Kind::Message, Kind::Failed, Kind::Beat, Kind::Bye];

/// Starts every frame, with the kind in its first byte, so that other programs on the port are noticed.
const MAGIC: u64 = u64::from_le_bytes(*b"\0several");
/// No message of ours is longer, in bytes.
pub const LONGEST: u64 = 1 << 32;

/// What goes over a connection.
#[derive(Clone, Debug)]
pub struct Frame {
    /// What it is.
    pub kind: Kind,
    /// The rank that it is from.
    pub from: usize,
    /// The rank that it is for.
    pub to: usize,
    /// What a message is.
    pub label: u64,
    /// The content.
    pub bytes: Arc<[u8]>,
}

impl Frame {
    /// A frame that is no message.
    pub fn new(kind: Kind, from: usize, bytes: &[u8]) -> Self {
        Self { kind, from, to: 0, label: 0, bytes: bytes.into() }
    }

    /// Writes the frame.
    pub fn write(&self, mut stream: &TcpStream) -> io::Result<()> {
        let words = [MAGIC | self.kind as u64, self.from as u64, self.to as u64, self.label, self.bytes.len() as u64];
        stream.write_all(&words.map(u64::to_le_bytes).concat())?;
        stream.write_all(&self.bytes)
    }

    /// Reads a frame of at most `longest` bytes.
    pub fn read(mut stream: &TcpStream, longest: u64) -> io::Result<Self> {
        let mut header = [[0; 8]; 5];
        stream.read_exact(header.as_flattened_mut())?;
        let [magic, from, to, label, length] = header.map(u64::from_le_bytes);
        let kind = KINDS.get((magic ^ MAGIC) as usize).filter(|_| length <= longest);
        let kind = kind.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "something else speaks there"))?;
        let mut bytes = vec![0; length as usize];
        stream.read_exact(&mut bytes)?;
        Ok(Self { kind: *kind, from: from as usize, to: to as usize, label, bytes: bytes.into() })
    }
}

/// The connections of one process: of rank 0 with all others, of the others with rank 0.
pub struct Wires {
    /// The rank of this process.
    pub rank: usize,
    /// By rank.
    streams: Vec<Option<Mutex<TcpStream>>>,
}

impl Wires {
    /// The connections, by rank, as the rendezvous made them.
    pub fn new(rank: usize, streams: Vec<Option<TcpStream>>) -> io::Result<Self> {
        for stream in streams.iter().flatten() {
            stream.set_read_timeout(Some(SILENCE))?;
            stream.set_write_timeout(Some(SILENCE))?;
        }
        Ok(Self { rank, streams: streams.into_iter().map(|stream| stream.map(Mutex::new)).collect() })
    }

    /// A second handle of each connection to read from, with the rank at its other end.
    pub fn readers(&self) -> io::Result<Vec<(usize, TcpStream)>> {
        let streams = self.streams.iter().enumerate().filter_map(|(rank, stream)| Some((rank, stream.as_ref()?)));
        let lock = |stream: &Mutex<TcpStream>| stream.lock().unwrap_or_else(PoisonError::into_inner).try_clone();
        streams.map(|(rank, stream)| Ok((rank, lock(stream)?))).collect()
    }

    /// Writes to the connection that leads to the frame's receiver. What cannot be written is noticed by whoever listens to it.
    pub fn write(&self, frame: &Frame) {
        let next = if self.rank == 0 { frame.to } else { 0 };
        if let Some(Some(stream)) = self.streams.get(next) {
            let _ = frame.write(&stream.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Writes to all connections but that with one rank.
    pub fn to_all(&self, frame: &Frame, but: usize) {
        for to in (0..self.streams.len()).filter(|&to| to != but && self.streams[to].is_some()) {
            self.write(&Frame { to, ..frame.clone() });
        }
    }
}
