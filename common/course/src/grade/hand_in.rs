//! What was handed in: the kernels in a folder, whose they are, and for which lab.

use std::collections::HashSet;
use std::fs::FileType;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use common::basics::{io_reason, workspace};
use walkdir::{DirEntry, WalkDir};

use crate::files::{self, kind};
use crate::lab::Lab;

/// Bytes that a hand-in may have: a hundred times more than any kernel of the course.
const LARGEST: usize = 1 << 20;
/// Folders within folders that are looked into, and files that are taken at most.
const DEEPEST: usize = 8;
const MOST: usize = 10_000;

pub struct HandIn {
    /// The student: the name of the folder, or of the file if it is not in a folder.
    pub who: String,
    /// The file from the folder of the class.
    pub file: String,
    /// None if nothing says which.
    pub lab: Option<Lab>,
    /// The kernel's text, or in a sentence why there is none.
    pub kernel: Result<String, String>,
    /// What lies beside it and may be included: names and texts.
    pub headers: Vec<(String, String)>,
}

/// Kinds of files that a kernel may include, and how many of them are taken.
const HEADERS: [&str; 5] = ["cuh", "h", "hpp", "inc", "inl"];
const MOST_HEADERS: usize = 16;

/// The headers beside a kernel. Links are not followed, as for kernels.
fn headers(file: &Path) -> Vec<(String, String)> {
    let entries = std::fs::read_dir(files::folder_of(file)).into_iter().flatten().flatten();
    let header = |entry: std::fs::DirEntry| {
        let (name, is_file) = (entry.file_name().into_string().ok()?, entry.file_type().is_ok_and(|of| of.is_file()));
        let kind = Path::new(&name).extension().is_some_and(|kind| HEADERS.iter().any(|header| kind == *header));
        let text = (is_file && kind).then(|| read(&entry.path()).ok()).flatten()?;
        Some((name, text))
    };
    let mut headers: Vec<(String, String)> = entries.filter_map(header).take(MOST_HEADERS).collect();
    headers.sort();
    headers
}

/// Everything below a folder that is a folder or may be a kernel, and is not hidden: each from there, and with its kind. Links are not
/// followed.
fn walked(folder: &Path) -> Result<Vec<(PathBuf, FileType)>> {
    let name = workspace::display(folder);
    ensure!(folder.is_dir(), "{name} is not a folder; give the folder with the hand-ins");
    let is_shown = |entry: &DirEntry| entry.depth() == 0 || !entry.file_name().as_encoded_bytes().starts_with(b".");
    let mut entries = vec![];
    for entry in WalkDir::new(folder).min_depth(1).max_depth(DEEPEST).into_iter().filter_entry(is_shown) {
        let entry = match entry {
            Ok(entry) => entry,
            // A folder that cannot be read must not affect other students.
            Err(error) if error.depth() > 0 => continue,
            Err(error) => {
                let reason = error.io_error().map_or_else(String::new, io_reason);
                bail!("{name} cannot be read ({reason}); check its permissions");
            }
        };
        let (path, of) = (entry.path().strip_prefix(folder)?, entry.file_type());
        if of.is_dir() || kind(path).is_some() || entry.depth() == 1 && of.is_symlink() {
            entries.push((path.to_owned(), of));
        }
        ensure!(entries.len() <= MOST, "{name} holds more than {MOST} files; grade it in parts");
    }
    Ok(entries)
}

/// The hand-ins in a folder, sorted: those of one lab, or all.
pub fn all(folder: &Path, only: Option<&Lab>) -> Result<Vec<HandIn>> {
    let (labs, entries) = (Lab::all()?, walked(folder)?);
    let is_code = |path: &Path| matches!(kind(path), Some("cu" | "rs"));
    let without = |path: &Path| path.with_extension("").to_string_lossy().to_lowercase();
    let code = entries.iter().filter(|(path, _)| is_code(path)).map(|(path, _)| without(path));
    let code: HashSet<String> = code.collect();
    // PTX next to its source was compiled from it.
    let is_compiled = |path: &Path| kind(path) == Some("ptx") && code.contains(&without(path));
    let own = entries.iter().filter(|(path, _)| !is_compiled(path));
    let mut found: Vec<HandIn> = own.filter_map(|(path, of)| hand_in(folder, path, *of, &labs, only)).collect();
    ensure!(
        !found.is_empty(),
        "{} holds no hand-in (step03.cu is one for lab 3 only); give the folder with the .cu or .rs files, or the students'",
        workspace::display(folder)
    );
    for (path, of) in &entries {
        let whose = who(path);
        if of.is_dir() && path.components().count() == 1 && found.iter().all(|one| one.who != whose) {
            let kernel = Err("there is no .cu or .rs file for this lab in the folder".to_owned());
            found.push(HandIn {
                who: whose,
                file: workspace::escaped(path),
                lab: only.cloned(),
                kernel,
                headers: vec![],
            });
        }
    }
    found.sort_by(|one, other| (&one.who, &one.file).cmp(&(&other.who, &other.file)));
    Ok(found)
}

/// Whose a file is: the first folder, or the file without its extension.
fn who(path: &Path) -> String {
    let first: &Path = path.components().next().map_or(path, |first| first.as_os_str().as_ref());
    let alone = path.components().count() == 1 && kind(path).is_some();
    workspace::escaped(&if alone { first.with_extension("") } else { first.to_owned() })
}

fn hand_in(root: &Path, path: &Path, of: FileType, labs: &[Lab], only: Option<&Lab>) -> Option<HandIn> {
    let stem = path.file_stem()?.to_string_lossy().into_owned();
    let own = lab_named(&stem, labs);
    let kept = own.is_some() && stem.rsplit_once('.').is_some_and(|(_, last)| is_kept(last));
    let other = |only: &Lab| own.as_ref().is_some_and(|own| own.kernel.name() != only.kernel.name());
    if of.is_dir() || kept || only.is_some_and(other) {
        return None;
    }
    let folders = || {
        let mut names = path.ancestors().skip(1).filter_map(Path::file_name);
        names.find_map(|name| lab_named(&name.to_string_lossy(), labs))
    };
    let lab = only.cloned().or(own).or_else(folders);
    let kernel = match lab {
        _ if !of.is_file() => Err("it is a link or a pipe and no file of its own".to_owned()),
        None => Err("no lab is named; call the file step04.cu, say, or give --lab".to_owned()),
        Some(_) => read(&root.join(path)),
    };
    // In the folder of the class, other students' files would lie beside it.
    let headers = if path.components().count() > 1 { headers(&root.join(path)) } else { vec![] };
    Some(HandIn { who: who(path), file: workspace::escaped(path), lab, kernel, headers })
}

/// Whether a file's name is that of a copy which the course keeps: `step04.task1.cu`, `step04.1.cu`.
fn is_kept(end: &str) -> bool {
    let number = end.strip_prefix("task").unwrap_or(end);
    !number.is_empty() && number.chars().all(|c| c.is_ascii_digit())
}

/// The lab that a name speaks of: `step04`, `Lab 4`, `ada_step4_final`, `tensor_cores`, `step04-transfer7`.
fn lab_named(name: &str, labs: &[Lab]) -> Option<Lab> {
    let name = name.to_lowercase();
    let number = number_after(&name, "step").or_else(|| number_after(&name, "lab")).map(|number| number.to_string());
    let is_named =
        |lab: &&Lab| number.as_deref() == Some(lab.name.as_str()) || lab.name.len() > 2 && name.contains(&lab.name);
    let lab = labs.iter().find(is_named)?;
    number_after(&name, "transfer").map_or_else(|| Some(lab.clone()), |seed| lab.drawn(seed).ok())
}

/// The first number that follows a word.
fn number_after(name: &str, word: &str) -> Option<u64> {
    name.match_indices(word).find_map(|(at, _)| {
        let rest = name[at + word.len()..].trim_start_matches(['_', '-', ' ']);
        rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())].parse().ok()
    })
}

/// The text of a file. The error says in a sentence why it is none.
fn read(path: &Path) -> Result<String, String> {
    match files::text(path) {
        Ok(text) if text.len() > LARGEST => Err("it has more than 1 MiB, which no kernel needs".to_owned()),
        text => text.map_err(|error| format!("it cannot be read ({})", io_reason(&error))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_the_lab_and_whose_it_is() {
        let labs = Lab::all().unwrap();
        let lab = |name| lab_named(name, &labs).map(|lab| lab.name);
        for name in ["step04", "Lab 4", "ada_step4_final", "step04.task1", "lab-04"] {
            assert_eq!(lab(name).as_deref(), Some("4"), "{name}");
        }
        let others = ["my_tensor_cores", "step04-transfer7", "ada", "lab99", "tensor_cores-transfer7"].map(lab);
        assert_eq!(others.each_ref().map(Option::as_deref), [Some("tensor_cores"), Some("4-7"), None, None, None]);
        assert_eq!(who(Path::new("ada.lovelace.cu")), "ada.lovelace");
        assert_eq!(who(Path::new("ada\n/a/step04.cu")), "ada\\n");
        assert!(is_kept("task12") && is_kept("3") && !is_kept("final") && !is_kept("task"));
    }
}
