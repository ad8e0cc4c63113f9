//! The functions that the module exports: a request is written into its memory, the answer is read from there.
//!
//! A module runs on one thread, and a page calls one function after the other.

use crate::engine::Engine;
use std::cell::RefCell;

thread_local! {
    static ENGINE: RefCell<Engine> = RefCell::new(Engine::default());
    /// A request, and then its answer.
    static TEXT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Room for a request of this size.
#[unsafe(no_mangle)]
pub extern "C" fn reserve(bytes: usize) -> *mut u8 {
    TEXT.set(vec![0; bytes]);
    TEXT.with_borrow_mut(Vec::as_mut_ptr)
}

/// Answers the request in that room; returns the length of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn call(bytes: usize) -> usize {
    let mut request = TEXT.take();
    request.truncate(bytes);
    let answer = ENGINE.with_borrow_mut(|engine| engine.answer(&String::from_utf8_lossy(&request)));
    TEXT.set(answer.into_bytes());
    TEXT.with_borrow(Vec::len)
}

/// Where the answer is stored.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    TEXT.with_borrow(Vec::as_ptr)
}

/// An array of the latest answer.
#[unsafe(no_mangle)]
pub extern "C" fn bulk(which: usize) -> *const u32 {
    ENGINE.with_borrow(|engine| engine.bulk(which).as_ptr())
}

/// How many words it has.
#[unsafe(no_mangle)]
pub extern "C" fn bulk_words(which: usize) -> usize {
    ENGINE.with_borrow(|engine| engine.bulk(which).len())
}
