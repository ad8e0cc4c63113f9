//! How each function of the interface begins and ends: the lock, whether the driver is initialised, and its answer as a number.

use crate::errors::{Answer, NOT_INITIALIZED, NOT_PERMITTED, NOT_READY, NOT_SUPPORTED, UNKNOWN};
use crate::guard;
use crate::logged;
use crate::state::State;
use std::cell::Cell;
use std::collections::HashSet;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

static STATE: LazyLock<Mutex<State>> = LazyLock::new(|| Mutex::new(State::new()));
/// Told whenever a stream has gone on without a call of the program.
static PROGRESS: Condvar = Condvar::new();

thread_local! {
    /// Whether this thread runs a function of the program for a stream.
    static IN_CALLBACK: Cell<bool> = const { Cell::new(false) };
}

/// The driver's state, locked.
pub struct Guard(Option<MutexGuard<'static, State>>);

impl Guard {
    /// Waits for the lock.
    pub fn lock() -> Self {
        Self(Some(STATE.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Lets others go on until something holds.
    pub fn wait(&mut self, mut holds: impl FnMut(&mut State) -> bool) {
        while !holds(self) {
            if let Some(guard) = self.0.take() {
                // Looks again now and then: a stream may wait for a value that the host writes without telling us.
                let again = Duration::from_millis(2);
                self.0 = Some(PROGRESS.wait_timeout(guard, again).unwrap_or_else(PoisonError::into_inner).0);
            }
        }
    }
}

impl Deref for Guard {
    type Target = State;

    fn deref(&self) -> &State {
        self.0.as_deref().expect("taken only while it waits")
    }
}

impl DerefMut for Guard {
    fn deref_mut(&mut self) -> &mut State {
        self.0.as_deref_mut().expect("taken only while it waits")
    }
}

/// Tells those who wait that a stream has gone on.
pub fn progress() {
    PROGRESS.notify_all();
}

/// Runs a function of the program, which may not call the driver.
pub fn in_callback(run: impl FnOnce()) {
    IN_CALLBACK.set(true);
    run();
    IN_CALLBACK.set(false);
}

/// Runs a function of the interface.
pub fn answer(name: &'static str, before_init: bool, run: impl FnOnce(&mut Guard) -> Answer) -> u32 {
    if IN_CALLBACK.get() && !before_init {
        return NOT_PERMITTED.0;
    }
    let run = AssertUnwindSafe(|| {
        let mut guard = Guard::lock();
        if !guard.initialised && !before_init {
            return Err(NOT_INITIALIZED);
        }
        if guard.check.is_some() {
            before(&mut guard, name);
        }
        guard.log.calling = name;
        let answer = run(&mut guard);
        if let Err(code) = answer
            && code != NOT_READY
            && guard.log.is_on()
        {
            logged::failed(&guard, code);
        }
        if guard.check.is_some() {
            after(&mut guard, name, answer);
        }
        answer
    });
    match catch_unwind(run).unwrap_or(Err(UNKNOWN)) {
        Ok(()) => 0,
        Err(code) => code.0,
    }
}

/// Before a call that is checked: the driver may access all memory, and what the host accessed too early is told.
fn before(state: &mut State, name: &'static str) {
    guard::open();
    tell_hits(state);
    if let Some(check) = &mut state.check {
        check.enters(name);
    }
}

/// After it: memory that streams may still work on is closed to the host.
fn after(state: &mut State, name: &'static str, answer: Answer) {
    let State { check: Some(check), blocks, streams, .. } = state else { return };
    check.answered(name, answer);
    // A function of the program that a stream calls may access what the stream has done before it.
    if streams.iter().any(|(_, stream)| stream.busy) {
        return;
    }
    let host = blocks.iter().filter(|(_, block)| block.is_host());
    guard::close(host.flat_map(|(&base, block)| check.closed(base, block.bytes)).collect());
}

/// Tells what the host accessed too early.
pub fn tell_hits(state: &mut State) {
    for hit in guard::hits() {
        let report = state.options.report.clone();
        if let Some(check) = &mut state.check {
            check.hit(hit, report.as_deref());
        }
    }
}

/// Answers for a function that is missing, and says so once.
pub fn not_supported(name: &'static str) -> u32 {
    static SAID: Mutex<Option<HashSet<&str>>> = Mutex::new(None);
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if said.get_or_insert_default().insert(name) {
        eprintln!(
            "simt: the program calls {name}, which the simulated GPU does not have; it answers \"not supported\""
        );
    }
    NOT_SUPPORTED.0
}

/// Declares functions of the interface, which CUDA's manual describes (`functions.txt` says what is different). Each body gets the locked state and answers a result; `early` ones may be called before
/// `cuInit`.
macro_rules! api {
    ($($(#[$doc:meta])* fn $name:ident($guard:ident $(, $arg:ident: $type:ty)* $(,)?) $body:block)*) => { $(
        $(#[$doc])*
        #[allow(unsafe_code, non_snake_case, reason = "the name and the manner of the C interface")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($arg: $type),*) -> u32 {
            $crate::entry::answer(stringify!($name), false, |$guard| $body)
        }
    )* };
}
macro_rules! early {
    ($($(#[$doc:meta])* fn $name:ident($guard:ident $(, $arg:ident: $type:ty)* $(,)?) $body:block)*) => { $(
        $(#[$doc])*
        #[allow(unsafe_code, non_snake_case, reason = "the name and the manner of the C interface")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($arg: $type),*) -> u32 {
            $crate::entry::answer(stringify!($name), true, |$guard| $body)
        }
    )* };
}
macro_rules! stub {
    ($name:ident) => {
        #[allow(unsafe_code, non_snake_case, reason = "the name and the manner of the C interface")]
        #[unsafe(no_mangle)]
        extern "C" fn $name() -> u32 {
            $crate::entry::not_supported(stringify!($name))
        }
    };
}
pub(crate) use {api, early, stub};
