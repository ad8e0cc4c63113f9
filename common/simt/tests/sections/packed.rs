//! Texts that only programs read are packed, as `gzip` does it: `NAME.gz` in place of `NAME`. `zcat` shows one.

use flate2::read::GzDecoder;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// Reads a file, or unpacks `NAME.gz` if that is there.
pub fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut name = path.as_os_str().to_owned();
    name.push(".gz");
    let mut bytes = vec![];
    match File::open(name) {
        Ok(packed) => GzDecoder::new(packed).read_to_end(&mut bytes)?,
        Err(_) => File::open(path)?.read_to_end(&mut bytes)?,
    };
    Ok(bytes)
}

/// Reads a text as [`bytes`] reads a file.
pub fn text(path: &Path) -> io::Result<String> {
    String::from_utf8(bytes(path)?).map_err(io::Error::other)
}
