//! The post office of a run: messages between ranks, which are threads of one process. If one of them fails, the process ends, so
//! nobody waits for its messages.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use anyhow::{Result, ensure};
use bytemuck::{Pod, cast_slice, pod_collect_to_vec};

use super::grid::Line;

/// What a message is, so that the receiver can tell whether it is the one it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// Part of the exchange of this number.
    Exchange(u64),
    /// The name under which a line's GPUs find each other.
    NameOf(Line),
    /// A panel of this number on its way along a line of the grid.
    Panel(Line, usize),
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exchange(number) => write!(f, "exchange {number}"),
            Self::NameOf(_) => write!(f, "a line's name"),
            Self::Panel(Line::Row, panel) => write!(f, "panel {panel} of A"),
            Self::Panel(Line::Column, panel) => write!(f, "panel {panel} of B"),
        }
    }
}

/// A message with its label.
type Message = (Label, Arc<[u8]>);

/// Messages that are on their way, by sender and receiver.
type Queues = HashMap<(usize, usize), VecDeque<Message>>;

#[derive(Default)]
pub struct Post {
    queues: Mutex<Queues>,
    changed: Condvar,
}

impl Post {
    fn queues(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a message into the box of a rank.
    fn send(&self, from: usize, to: usize, message: Message) {
        self.queues().entry((from, to)).or_default().push_back(message);
        self.changed.notify_all();
    }

    /// Waits for the next message from one rank to another.
    fn receive(&self, from: usize, to: usize) -> Message {
        let mut queues = self.queues();
        loop {
            if let Some(message) = queues.get_mut(&(from, to)).and_then(VecDeque::pop_front) {
                return message;
            }
            queues = self.changed.wait(queues).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Messages that were sent and never received.
    #[cfg(test)]
    pub fn left_over(&self) -> usize {
        self.queues().values().map(VecDeque::len).sum()
    }
}

/// One rank's view of the post office.
#[derive(Clone)]
pub struct Member {
    /// This rank, from 0 on.
    pub rank: usize,
    pub world: usize,
    post: Arc<Post>,
    exchanges: u64,
}

impl Member {
    /// A rank of a world that shares this post office.
    pub fn new(rank: usize, world: usize, post: Arc<Post>) -> Self {
        Self { rank, world, post, exchanges: 0 }
    }

    pub fn send(&self, to: usize, label: Label, bytes: Arc<[u8]>) {
        self.post.send(self.rank, to, (label, bytes));
    }

    /// Waits for a message of this label from another rank. Fails if another message comes.
    pub fn receive(&self, from: usize, label: Label) -> Result<Arc<[u8]>> {
        let (found, bytes) = self.post.receive(from, self.rank);
        ensure!(
            found == label,
            "rank {} waits for {label} from rank {from} and gets {found}; this is a bug, report it with your options",
            self.rank
        );
        Ok(bytes)
    }

    /// Gives every rank what every rank has, in the order of ranks. All must call it.
    pub fn exchange<T: Pod>(&mut self, own: &[T]) -> Result<Vec<Vec<T>>> {
        self.exchanges += 1;
        let (label, bytes) = (Label::Exchange(self.exchanges), Arc::<[u8]>::from(cast_slice(own)));
        (0..self.world).for_each(|rank| self.send(rank, label, bytes.clone()));
        (0..self.world).map(|rank| Ok(pod_collect_to_vec(&self.receive(rank, label)?))).collect()
    }

    /// Waits until all ranks have come here.
    pub fn barrier(&mut self) -> Result<()> {
        self.exchange::<u8>(&[]).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

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
            assert_eq!(thread.join().unwrap(), [vec![], vec![1], vec![2; 2], vec![3; 3], vec![4; 4]]);
        }
        assert_eq!(post.left_over(), 0);
    }

    #[test]
    fn another_message_than_the_expected_one_is_named() {
        let post = Arc::new(Post::default());
        let [one, two] = [0, 1].map(|rank| Member::new(rank, 2, post.clone()));
        one.send(1, Label::Panel(Line::Column, 7), [].into());
        let error = two.receive(0, Label::Panel(Line::Row, 7)).unwrap_err().to_string();
        assert!(error.contains("waits for panel 7 of A from rank 0 and gets panel 7 of B"), "{error}");
    }
}
