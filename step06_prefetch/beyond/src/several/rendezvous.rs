//! How processes find each other: all connect to rank 0, which compares how they were started before anything is multiplied.

use std::io;
use std::net::{TcpListener, TcpStream, ToSocketAddrs as _};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use common::basics::output::io_reason;
use serde::{Deserialize, Serialize};

use super::place::Place;
use super::post::Post;
use super::wires::{Frame, Kind, Wires};

/// How long ranks wait for each other. Everybody has given up, and said why, within 30 seconds.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long the others wait for rank 0's verdict after they have lost patience with each other.
const VERDICT: Duration = Duration::from_secs(7);
/// How long rank 0 goes on to listen when it knows already that it cannot work, so that all are told.
const STRAGGLERS: Duration = Duration::from_secs(3);
/// A greeting is never longer, in bytes.
const LONGEST_HELLO: u64 = 1 << 16;

/// The options with which a rank was started, by name: they must be the same on all.
pub type Options = Vec<(String, String)>;

/// What a rank says first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Hello {
    rank: usize,
    world: usize,
    options: Options,
}

/// Brings the processes of a run together and gives this one its post office. The error says who is missing or differs.
pub fn meet(place: &Place, options: &Options) -> Result<Arc<Post>> {
    meet_within(place, options, PATIENCE)
}

fn meet_within(place: &Place, options: &Options, patience: Duration) -> Result<Arc<Post>> {
    let hello = Hello { rank: place.rank, world: place.world, options: options.clone() };
    let streams = if place.rank == 0 { receive_all(place, &hello, patience)? } else { visit(place, &hello, patience)? };
    Wires::new(place.rank, streams).and_then(Post::connected).map_err(|error| {
        anyhow!("the connections between the ranks do not work ({}); start all ranks again", io_reason(&error))
    })
}

/// Rank 0: waits for the others and compares.
fn receive_all(place: &Place, own: &Hello, patience: Duration) -> Result<Vec<Option<TcpStream>>> {
    let address = &place.address;
    let listener = TcpListener::bind(address).and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
    let listener = listener.map_err(|error| {
        let reason = io_reason(&error);
        anyhow!("rank 0 cannot listen at {address} ({reason}); set MASTER_ADDR to an address of its machine and MASTER_PORT to a free port")
    })?;
    let mut streams: Vec<Option<TcpStream>> = (0..place.world).map(|_| None).collect();
    let mut problem = None;
    let mut deadline = Instant::now() + patience;
    // A stranger at the port is no reason to end; the ranks' own connections are those that count.
    let mut told: Vec<TcpStream> = Vec::new();
    while streams.iter().skip(1).any(Option::is_none) && Instant::now() < deadline {
        let Ok((stream, _)) = listener.accept() else {
            sleep(Duration::from_millis(20));
            continue;
        };
        let Ok(hello) = greeting(&stream) else { continue };
        match compare(own, &hello, &streams) {
            Ok(()) => streams[hello.rank] = Some(stream),
            Err(error) => {
                told.push(stream);
                if problem.is_none() {
                    problem = Some(error);
                    deadline = deadline.min(Instant::now() + STRAGGLERS);
                }
            }
        }
    }
    let missing: Vec<String> =
        (1..place.world).filter(|&rank| streams[rank].is_none()).map(|r| r.to_string()).collect();
    let problem = problem.or_else(|| {
        let who = if missing.len() == 1 { "rank" } else { "ranks" };
        (!missing.is_empty()).then(|| {
            anyhow!(
                "{who} {} of {} did not come to {address} within {} s; start one process for each rank, with the same MASTER_ADDR and MASTER_PORT",
                missing.join(", "),
                place.world,
                patience.as_secs()
            )
        })
    });
    let answer = match &problem {
        None => Frame::new(Kind::Welcome, 0, &[]),
        Some(error) => Frame::new(Kind::Failed, 0, error.to_string().as_bytes()),
    };
    for stream in streams.iter().flatten().chain(&told) {
        // Who is gone again by now is noticed when it does not speak.
        let _ = answer.write(stream);
    }
    problem.map_or(Ok(streams), Err)
}

fn greeting(stream: &TcpStream) -> io::Result<Hello> {
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(STRAGGLERS))?;
    let frame = Frame::read(stream, LONGEST_HELLO)?;
    Ok(serde_json::from_slice(&frame.bytes)?)
}

/// What is wrong with a rank's greeting.
fn compare(own: &Hello, other: &Hello, streams: &[Option<TcpStream>]) -> Result<()> {
    let rank = other.rank;
    if own.world != other.world {
        bail!("rank {rank} is one of {} and rank 0 one of {}; give all ranks the same number", other.world, own.world);
    }
    if rank == 0 || rank >= own.world || streams[rank].is_some() {
        bail!(
            "two processes say that they are rank {rank}; give each a number of its own, from 0 to {}",
            own.world - 1
        );
    }
    for ((name, ours), (other_name, theirs)) in own.options.iter().zip(&other.options) {
        if name != other_name || ours != theirs {
            bail!(
                "rank {rank} was started with {other_name} {theirs} and rank 0 with {name} {ours}; start all ranks with the same options"
            );
        }
    }
    Ok(())
}

/// The other ranks: connect to rank 0 and wait for its verdict.
fn visit(place: &Place, own: &Hello, patience: Duration) -> Result<Vec<Option<TcpStream>>> {
    let (rank, address) = (place.rank, &place.address);
    let begin = Instant::now();
    let stream = loop {
        let error = match connect(address) {
            Ok(stream) => break stream,
            Err(error) => error,
        };
        if begin.elapsed() >= patience {
            bail!(
                "rank {rank} finds nobody at {address} within {} s ({}); start rank 0 there, or set MASTER_ADDR and MASTER_PORT to where it is",
                patience.as_secs(),
                io_reason(&error)
            );
        }
        sleep(Duration::from_millis(100));
    };
    let left = (patience + VERDICT).saturating_sub(begin.elapsed()).max(Duration::from_secs(1));
    let hello = serde_json::to_vec(own)?;
    let answer = stream
        .set_read_timeout(Some(left))
        .and_then(|()| Frame::new(Kind::Hello, rank, &hello).write(&stream))
        .and_then(|()| Frame::read(&stream, LONGEST_HELLO));
    let answer = answer.map_err(|error| {
        anyhow!(
            "rank {rank} gets no answer from rank 0 at {address} ({}); look at what rank 0 has printed",
            io_reason(&error)
        )
    })?;
    if answer.kind == Kind::Failed {
        bail!("{}", String::from_utf8_lossy(&answer.bytes));
    }
    let mut streams: Vec<Option<TcpStream>> = (0..place.world).map(|_| None).collect();
    streams[0] = Some(stream);
    Ok(streams)
}

/// One try. A name that is not known and an address that does not answer both end within seconds.
fn connect(address: &str) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, Duration::from_secs(3)) {
            Ok(stream) => return stream.set_nodelay(true).map(|()| stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::super::post::Member;
    use super::*;

    /// What each rank gets that was started with these options, at a port of its own.
    fn started(world: usize, ranks: &[(usize, &str)], port: u16) -> Vec<Result<Arc<Post>>> {
        let threads: Vec<_> = ranks
            .iter()
            .map(|&(rank, size)| {
                let place = Place { rank, world, local: None, address: format!("127.0.0.1:{port}") };
                let options = vec![("--size".to_owned(), size.to_owned())];
                std::thread::spawn(move || meet_within(&place, &options, Duration::from_secs(2)))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    }

    #[test]
    fn ranks_that_agree_meet_and_talk() {
        let posts = started(3, &[(2, "64"), (0, "64"), (1, "64")], 29_611);
        let threads: Vec<_> = posts
            .into_iter()
            .zip([2, 0, 1])
            .map(|(post, rank)| {
                let mut member = Member::new(rank, 3, post.unwrap());
                std::thread::spawn(move || {
                    let all = member.exchange(&[rank as u8]).unwrap();
                    assert_eq!(all.iter().map(|one| one[0]).collect::<Vec<_>>(), [0, 1, 2]);
                    // From 1 to 2, past rank 0.
                    let label = super::super::post::Label::exchange(99);
                    if rank == 1 {
                        member.send(2, label, [7].into());
                    }
                    if rank == 2 {
                        assert_eq!(*member.receive(1, label).unwrap(), [7]);
                    }
                    member.barrier().unwrap();
                    member.post().close();
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
    }

    #[test]
    fn what_is_wrong_with_a_rank_is_said_to_all() {
        for (ranks, port, says) in [
            (
                &[(0, "64"), (1, "64"), (2, "32")][..],
                29_612,
                "rank 2 was started with --size 32 and rank 0 with --size 64",
            ),
            (&[(0, "64"), (1, "64")], 29_613, "rank 2 of 3 did not come to 127.0.0.1:29613 within 2 s"),
            (&[(1, "64")], 29_614, "rank 1 finds nobody at 127.0.0.1:29614 within 2 s (connection refused)"),
            (&[(0, "64"), (1, "64"), (1, "64")], 29_615, "two processes say that they are rank 1"),
        ] {
            for met in started(3, ranks, port) {
                let error = met.err().map_or_else(String::new, |error| error.to_string());
                assert!(error.starts_with(says), "{error}");
            }
        }
    }
}
