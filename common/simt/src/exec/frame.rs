//! The local memory of a warp: only the pages that its threads write cost memory, and time at the start of the next block.

/// Words of a page.
const PAGE: usize = 1024;

/// Local memory of the 32 lanes, one area after the other. A block finds zeros in it.
#[derive(Default)]
pub(super) struct LocalMemory {
    /// Fresh from the operating system, which gives a page only when it is written.
    words: Vec<u32>,
    /// By page: whether it has been written in this block.
    written: Vec<bool>,
    pages: Vec<usize>,
}

impl LocalMemory {
    /// For areas of `bytes` bytes a lane, a multiple of 4.
    pub fn new(bytes: u32) -> Self {
        let words = bytes as usize * 8;
        Self { words: vec![0; words], written: vec![false; words.div_ceil(PAGE)], pages: vec![] }
    }

    pub fn read(&self, word: usize) -> u32 {
        self.words[word]
    }

    /// The words, of which the one that holds byte `at` is going to be written, and those after it up to the next multiple
    /// of 16 bytes.
    pub fn at(&mut self, at: usize) -> &mut [u32] {
        let page = at / 4 / PAGE;
        if !std::mem::replace(&mut self.written[page], true) {
            self.pages.push(page);
        }
        &mut self.words
    }

    /// Zeros again, where something was written.
    pub fn clear(&mut self) {
        for page in self.pages.drain(..) {
            let end = self.words.len().min((page + 1) * PAGE);
            self.words[page * PAGE..end].fill(0);
            self.written[page] = false;
        }
    }
}
