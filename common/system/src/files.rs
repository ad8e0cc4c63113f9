//! Files that somebody else wrote or reads: read up to a limit, and handed over only if there is room.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::Path;

use crate::units::grouped;

/// The most bytes that a text may have. The largest PTX of the course has a hundredth of that.
pub const LARGEST: u64 = 32 << 20;

/// Reads a text that somebody else may have put there, as [`bytes`] does. Leaves out the byte order mark with which some editors begin
/// a text.
pub fn text(path: &Path) -> io::Result<String> {
    let Ok(text) = String::from_utf8(bytes(path)?) else {
        return Err(io::Error::other("it is not a text in UTF-8: save it as one"));
    };
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// Reads a file that somebody else may have put there. Refuses pipes, which could block, devices, which have no end, and files that
/// would fill the memory.
pub fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let other = |why: String| Err(io::Error::other(why));
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return other("it is not a file".into());
    }
    let mut bytes = Vec::new();
    let mut options = File::options();
    // Reading some files of the system would wait for data that is still to come.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    // Some files have more in them than their length says.
    options.read(true).open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        let bytes = metadata.len().max(LARGEST + 1);
        return other(format!("it has {} bytes, and may have {}", grouped(bytes), grouped(LARGEST)));
    }
    Ok(bytes)
}

/// The kind of a kernel by its file's name, in capitals or not: `cu`, `rs` or `ptx`.
pub fn kind(path: &Path) -> Option<&'static str> {
    let extension = path.extension()?;
    ["cu", "rs", "ptx"].into_iter().find(|kind| extension.eq_ignore_ascii_case(kind))
}

/// Fails if the system would end a program that writes a file of `bytes` bytes (`ulimit -f`).
pub fn room(bytes: usize) -> io::Result<()> {
    #[cfg(unix)]
    if rustix::process::getrlimit(rustix::process::Resource::Fsize).current.is_some_and(|most| most < bytes as u64) {
        return Err(ErrorKind::FileTooLarge.into());
    }
    Ok(())
}

/// Writes a file for another program, in a folder that is deleted when that program ends.
pub fn hand_over(path: &Path, text: &[u8]) -> io::Result<()> {
    room(text.len())?;
    fs::write(path, text)
}

/// Gives a file a second name, which must not exist yet. It is a copy if the file system has no hard links.
pub fn second_name(path: &Path, name: &Path) -> io::Result<()> {
    match fs::hard_link(path, name) {
        Err(error) if !matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::NotFound) => {
            let bytes = fs::read(path)?;
            let written = File::create_new(name)?.write_all(&bytes);
            written.inspect_err(|_| drop(fs::remove_file(name)))
        }
        linked => linked,
    }
}

/// The folder of a file; for a bare name, the current folder.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
