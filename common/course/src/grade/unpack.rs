//! Zip files, as learning platforms and learners make them: what a grading may need of them is unpacked into a folder.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

use common::basics::io_reason;
use zip::ZipArchive;

/// Bytes that all zip files of a class may unpack to, and entries that one may have.
const ROOM: u64 = 256 << 20;
const MOST: usize = 10_000;

/// How much may still be unpacked.
pub struct Room(u64);

impl Default for Room {
    fn default() -> Self {
        Self(ROOM)
    }
}

/// Unpacks the wanted files and all folders. Links, and names that lead out of the folder, are left out; of a file no more than
/// `largest` bytes and one are read. The error says in a sentence why it is no hand-in.
pub fn unpack(
    file: &Path,
    to: &Path,
    room: &mut Room,
    largest: u64,
    wanted: impl Fn(&Path) -> bool,
) -> Result<(), String> {
    let unread = |error: std::io::Error| format!("it cannot be unpacked ({})", io_reason(&error));
    let broken = |error| format!("it is no zip file that can be read ({error}); make it again");
    let mut archive = ZipArchive::new(File::open(file).map_err(unread)?).map_err(broken)?;
    if archive.len() > MOST {
        return Err(format!("it holds more than {MOST} files; hand in the kernels alone"));
    }
    for index in 0..archive.len() {
        let entry = archive.by_index(index).map_err(broken)?;
        let Some(name) = entry.enclosed_name().filter(|name| !name.starts_with("__MACOSX")) else { continue };
        let (path, is_wanted) = (to.join(&name), entry.is_file() && wanted(&name));
        let folder = if entry.is_dir() { Some(&*path) } else { path.parent().filter(|_| is_wanted) };
        if let Some(folder) = folder {
            fs::create_dir_all(folder).map_err(unread)?;
        }
        if !is_wanted {
            continue;
        }
        let mut bytes = vec![];
        entry.take(largest + 1).read_to_end(&mut bytes).map_err(unread)?;
        room.0 = room.0.checked_sub(bytes.len() as u64).ok_or("the class's zip files unpack to more than 256 MiB")?;
        fs::write(&path, bytes).map_err(unread)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn zipped(files: &[(&str, &[u8])]) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("hand-in.zip");
        let mut zip = zip::ZipWriter::new(File::create(&file).unwrap());
        for (name, bytes) in files {
            zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
            zip.write_all(bytes).unwrap();
        }
        zip.finish().unwrap();
        (folder, file)
    }

    #[test]
    fn nothing_leaves_the_folder_and_a_bomb_fills_nothing() {
        let bomb = vec![b' '; 5 << 20];
        let (folder, file) = zipped(&[
            ("ada/step04.cu", b"kernel"),
            ("../out.cu", b"evil"),
            ("/etc/absolute.cu", b"evil"),
            ("x/../../out.cu", b"evil"),
            ("bomb.cu", &bomb),
            ("photo.png", b"not wanted"),
        ]);
        let to = folder.path().join("in/here");
        let is_kernel = |path: &Path| path.extension().is_some_and(|of| of == "cu");
        let mut room = Room(3000);
        unpack(&file, &to, &mut room, 1000, is_kernel).unwrap();
        assert_eq!(fs::read(to.join("ada/step04.cu")).unwrap(), b"kernel");
        assert_eq!(fs::read(to.join("bomb.cu")).unwrap().len(), 1001);
        assert!(!to.join("photo.png").exists() && !Path::new("/etc/absolute.cu").exists());
        assert!(!folder.path().join("in/out.cu").exists() && !folder.path().join("out.cu").exists());
        room.0 = 100;
        assert!(unpack(&file, &to, &mut room, 1000, is_kernel).unwrap_err().contains("more than 256 MiB"));
        fs::write(&file, "no zip").unwrap();
        assert!(unpack(&file, &to, &mut Room::default(), 1000, is_kernel).unwrap_err().contains("no zip file"));
    }
}
