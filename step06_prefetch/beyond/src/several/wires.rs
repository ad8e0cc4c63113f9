//! Ranks in processes of their own: each is connected with rank 0, which passes messages on.
//!
//! A rank says that it lives every two seconds. If its connection ends, or nothing is heard of it for ten seconds, all
//! others are told, and all end.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::post::{Failure, Label, Message, Outgoing, Post};

/// How often a rank says that it lives.
const BEAT: Duration = Duration::from_secs(2);
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

/// Starts every frame, so that other programs on the port are noticed.
const MAGIC: [u8; 3] = *b"SEV";
/// Magic, kind, sender, receiver, label, length.
const HEADER: usize = 3 + 1 + 4 + 4 + 8 + 8;
/// No message of ours is longer, in bytes.
const LONGEST: u64 = 1 << 32;

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
    pub label: Label,
    /// The content.
    pub bytes: Arc<[u8]>,
}

impl Frame {
    /// A frame that is no message.
    pub fn new(kind: Kind, from: usize, bytes: &[u8]) -> Self {
        Self { kind, from, to: 0, label: Label(0), bytes: bytes.into() }
    }

    /// Writes the frame.
    pub fn write(&self, mut stream: &TcpStream) -> io::Result<()> {
        let mut header = Vec::with_capacity(HEADER);
        header.extend(MAGIC);
        header.push(self.kind as u8);
        header.extend((self.from as u32).to_le_bytes());
        header.extend((self.to as u32).to_le_bytes());
        header.extend(self.label.0.to_le_bytes());
        header.extend((self.bytes.len() as u64).to_le_bytes());
        stream.write_all(&header)?;
        stream.write_all(&self.bytes)
    }

    /// Reads a frame of at most `longest` bytes.
    pub fn read(mut stream: &TcpStream, longest: u64) -> io::Result<Self> {
        let mut header = [0; HEADER];
        stream.read_exact(&mut header)?;
        let strange = || io::Error::new(io::ErrorKind::InvalidData, "something else speaks there");
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| header[at + i])) as usize;
        let long = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| header[at + i]));
        let kind = KINDS.get(header[3] as usize).filter(|_| header[..3] == MAGIC).ok_or_else(strange)?;
        let length = Some(long(20)).filter(|&length| length <= longest).ok_or_else(strange)?;
        let mut bytes = vec![0; length as usize];
        stream.read_exact(&mut bytes)?;
        Ok(Self { kind: *kind, from: word(4), to: word(8), label: Label(long(12)), bytes: bytes.into() })
    }
}

/// The connections of one process: of rank 0 with all others, of the others with rank 0.
pub struct Wires {
    rank: usize,
    /// By rank.
    streams: Vec<Option<(TcpStream, Mutex<()>)>>,
}

impl Wires {
    /// The connections, by rank, as the rendezvous made them. Starts to listen and to say that this rank lives.
    pub fn start(rank: usize, streams: Vec<Option<TcpStream>>, post: &Arc<Post>) -> io::Result<()> {
        let streams: Vec<_> = streams.into_iter().map(|stream| stream.map(|stream| (stream, Mutex::new(())))).collect();
        let wires = Arc::new(Self { rank, streams });
        for (peer, (stream, _)) in wires.all() {
            stream.set_read_timeout(Some(SILENCE))?;
            stream.set_write_timeout(Some(SILENCE))?;
            let (wires, post, stream) = (wires.clone(), post.clone(), stream.try_clone()?);
            thread::spawn(move || listen(&wires, peer, &stream, &post));
        }
        post.connect(rank, Box::new(Sender(wires.clone())));
        let post = post.clone();
        thread::spawn(move || {
            while !post.is_closed() {
                wires.to_all(&Frame::new(Kind::Beat, wires.rank, &[]), wires.rank);
                thread::sleep(BEAT);
            }
        });
        Ok(())
    }

    fn all(&self) -> impl Iterator<Item = (usize, &(TcpStream, Mutex<()>))> {
        self.streams.iter().enumerate().filter_map(|(rank, stream)| Some((rank, stream.as_ref()?)))
    }

    /// Writes to the connection that leads to a rank. What cannot be written is noticed by whoever listens to it.
    fn write(&self, to: usize, frame: &Frame) {
        let next = if self.rank == 0 { to } else { 0 };
        if let Some(Some((stream, lock))) = self.streams.get(next) {
            let _one_at_a_time = lock.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = frame.write(stream);
        }
    }

    fn to_all(&self, frame: &Frame, but: usize) {
        for (rank, _) in self.all().filter(|(rank, _)| *rank != but) {
            self.write(rank, frame);
        }
    }
}

/// What the post office sends through.
struct Sender(Arc<Wires>);

impl Outgoing for Sender {
    fn send(&self, from: usize, to: usize, (label, bytes): &Message) {
        self.0.write(to, &Frame { kind: Kind::Message, from, to, label: *label, bytes: bytes.clone() });
    }

    fn tell_failure(&self, failure: &Failure) {
        self.0.to_all(&Frame::new(Kind::Failed, failure.rank, failure.text.as_bytes()), failure.rank);
    }

    fn say_bye(&self) {
        self.0.to_all(&Frame::new(Kind::Bye, self.0.rank, &[]), self.0.rank);
    }
}

/// Listens to one connection until the rank at its other end says good-bye or is gone.
fn listen(wires: &Wires, peer: usize, stream: &TcpStream, post: &Post) {
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
                post.fail(Failure { rank: peer, text });
                return;
            }
        };
        match frame.kind {
            Kind::Message if frame.to == wires.rank => post.deliver(frame.from, frame.to, (frame.label, frame.bytes)),
            Kind::Message => wires.write(frame.to, &frame),
            Kind::Failed => {
                let text = String::from_utf8_lossy(&frame.bytes).into_owned();
                // What rank 0 hears, it passes on.
                post.fail_after(Failure { rank: frame.from, text }, |_| {
                    if wires.rank == 0 {
                        wires.to_all(&frame, peer);
                    }
                });
            }
            Kind::Bye => return,
            Kind::Hello | Kind::Welcome | Kind::Beat => {}
        }
    }
}
