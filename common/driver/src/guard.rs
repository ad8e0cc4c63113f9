//! Notices when the host accesses memory that a stream may still work on: such pages are closed to the host between two calls of
//! the driver, and what the system then says is turned into a finding. On systems without signals nothing is noticed.

use crate::site::Call;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Pages that a stream works on.
#[derive(Debug, Clone)]
pub struct Region {
    /// First page and bytes.
    pub start: u64,
    pub bytes: u64,
    /// Whether the host may still read them.
    pub readable: bool,
    /// The number of the allocation, who works on it, what it does there, and who asked for it.
    pub allocation: u64,
    pub who: Arc<str>,
    pub does: &'static str,
    pub call: Arc<Call>,
}

/// An access of the host that came too early.
#[derive(Debug)]
pub struct Hit {
    pub region: Region,
    /// Where the host was.
    pub host: Call,
}

static CLOSED: Mutex<Vec<Region>> = Mutex::new(vec![]);
static HITS: Mutex<Vec<Hit>> = Mutex::new(vec![]);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens all pages, because the driver works on them itself.
pub fn open() {
    for region in std::mem::take(&mut *lock(&CLOSED)) {
        system::protect(region.start, region.bytes, true, true);
    }
}

/// Closes pages until the driver is called again.
pub fn close(regions: Vec<Region>) {
    if regions.is_empty() {
        return;
    }
    system::listen();
    let mut closed = lock(&CLOSED);
    for region in &regions {
        system::protect(region.start, region.bytes, region.readable, false);
    }
    *closed = regions;
}

/// The accesses since this was last asked.
pub fn hits() -> Vec<Hit> {
    std::mem::take(&mut *lock(&HITS))
}

/// The host has accessed an address that it may not. Returns whether it may now.
#[cfg(unix)]
fn accessed(address: u64) -> bool {
    let mut closed = lock(&CLOSED);
    let Some(at) = closed.iter().position(|region| (region.start..region.start + region.bytes).contains(&address))
    else {
        return false;
    };
    let region = closed.remove(at);
    system::protect(region.start, region.bytes, true, true);
    // Others may lie on the same pages, and would close them again.
    closed.retain(|other| other.start + other.bytes <= region.start || other.start >= region.start + region.bytes);
    lock(&HITS).push(Hit { region, host: Call::here("") });
    true
}

#[cfg(unix)]
#[allow(unsafe_code, reason = "signals and the protection of pages are functions of the C library")]
mod system {
    use std::mem::MaybeUninit;
    use std::sync::OnceLock;

    /// What was done about a wrong access before.
    static BEFORE: OnceLock<Vec<(i32, libc::sigaction)>> = OnceLock::new();

    pub fn protect(start: u64, bytes: u64, read: bool, write: bool) {
        let flag = |is: bool, flag: i32| if is { flag } else { 0 };
        let flags = flag(read, libc::PROT_READ) | flag(write, libc::PROT_WRITE);
        // SAFETY: whole pages of memory that was given to the host, which stay allocated until they are opened again.
        unsafe { libc::mprotect(start as *mut libc::c_void, bytes as usize, flags) };
    }

    pub fn listen() {
        BEFORE.get_or_init(|| {
            let listen = |signal: i32| {
                let mut before = MaybeUninit::<libc::sigaction>::zeroed();
                // SAFETY: a zeroed action is an action; the handler has the form that SA_SIGINFO asks for.
                unsafe {
                    let mut action = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
                    action.sa_sigaction = handle as extern "C" fn(_, _, _) as usize;
                    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
                    libc::sigaction(signal, &raw const action, before.as_mut_ptr());
                    (signal, before.assume_init())
                }
            };
            vec![listen(libc::SIGSEGV), listen(libc::SIGBUS)]
        });
    }

    extern "C" fn handle(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
        // SAFETY: the system passes what it knows about the signal.
        let address = unsafe { (*info).si_addr() } as u64;
        if super::accessed(address) {
            return;
        }
        // It is none of ours.
        let before = BEFORE.get().and_then(|all| all.iter().find(|(known, _)| *known == signal));
        let Some((_, before)) = before else { return };
        // SAFETY: the handler that the program or Rust had set, called as the system would; or the system's own, set again.
        unsafe {
            match before.sa_sigaction {
                libc::SIG_DFL | libc::SIG_IGN => {
                    libc::sigaction(signal, &raw const *before, std::ptr::null_mut());
                }
                function if before.sa_flags & libc::SA_SIGINFO != 0 => {
                    type Handler = extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);
                    std::mem::transmute::<usize, Handler>(function)(signal, info, context);
                }
                function => std::mem::transmute::<usize, extern "C" fn(i32)>(function)(signal),
            }
        }
    }
}

#[cfg(not(unix))]
mod system {
    pub fn protect(_start: u64, _bytes: u64, _read: bool, _write: bool) {}
    pub fn listen() {}
}
