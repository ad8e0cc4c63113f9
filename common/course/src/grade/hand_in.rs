//! What was handed in: the kernels in a folder, whose they are, and for which lab.

use std::collections::{BTreeMap, HashSet};
use std::fs::FileType;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use common::basics::{io_reason, workspace};
use walkdir::{DirEntry, WalkDir};

use super::unpack::{Room, unpack};
use crate::files::{self, kind};
use crate::lab::Lab;
use crate::secret::Secret;

/// Bytes that a hand-in may have: a hundred times more than any kernel of the course.
const LARGEST: usize = 1 << 20;
/// Folders within folders that are looked into, and files that are taken at most.
const DEEPEST: usize = 8;
const MOST: usize = 10_000;

pub struct HandIn {
    /// The student: the name of the folder, or of the file if it is not in a folder.
    pub who: String,
    /// Their number on a learning platform; empty if nothing says it.
    pub number: String,
    /// The file from the folder of the class.
    pub file: String,
    /// None if nothing says which.
    pub lab: Option<Lab>,
    /// The kernel's text, or in a sentence why there is none.
    pub kernel: Result<String, String>,
    /// What lies beside it and may be included: names and texts.
    pub headers: Vec<(String, String)>,
    /// Whether its name says that it is a transfer task.
    is_transfer: bool,
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

/// Something below the folder of the class.
struct Found {
    /// From there, where what a zip file holds lies in a folder of the zip's name.
    path: PathBuf,
    /// Where it can be read.
    at: PathBuf,
    of: FileType,
    /// Why a zip file could not be unpacked.
    broken: Option<String>,
}

/// Everything below a folder that is a folder or may be a kernel, and is not hidden. Zip files are unpacked into `unpacked`, if there is
/// such a folder. Links are not followed.
fn walked(folder: &Path, unpacked: Option<&Path>, room: &mut Room) -> Result<Vec<Found>> {
    let name = workspace::display(folder);
    ensure!(folder.is_dir(), "{name} is not a folder; give the folder with the hand-ins, or their zip file");
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
        let (path, of) = (entry.path().strip_prefix(folder)?.to_owned(), entry.file_type());
        let found = |broken| Found { path: path.clone(), at: entry.path().to_owned(), of, broken };
        // In a learner's zip file another one is left alone.
        if let Some(unpacked) = unpacked.filter(|_| of.is_file() && is_zip(&path)) {
            let to = unpacked.join(entries.len().to_string());
            match unpack(entry.path(), &to, room, LARGEST as u64, is_wanted) {
                Err(why) => entries.push(found(Some(why))),
                Ok(()) if to.is_dir() => {
                    let within = walked(&to, None, room)?.into_iter();
                    let beside = path.with_extension("");
                    entries.extend(within.map(|found| Found { path: beside.join(&found.path), ..found }));
                }
                Ok(()) => {}
            }
        } else if of.is_dir() || kind(&path).is_some() || entry.depth() == 1 && of.is_symlink() {
            entries.push(found(None));
        }
        ensure!(entries.len() <= MOST, "{name} holds more than {MOST} files; grade it in parts");
    }
    Ok(entries)
}

fn is_zip(path: &Path) -> bool {
    path.extension().is_some_and(|kind| kind.eq_ignore_ascii_case("zip"))
}

/// What Gradescope puts beside the folders of the hand-ins, to say whose they are.
const METADATA: &str = "submission_metadata.yml";

fn is_wanted(path: &Path) -> bool {
    let is_header = path.extension().is_some_and(|kind| HEADERS.iter().any(|header| kind == *header));
    kind(path).is_some() || is_header || path.ends_with(METADATA)
}

/// The hand-ins in a folder or in its zip file, sorted: those of one lab, or all. With a secret, transfer tasks are each learner's own.
pub fn all(given: &Path, only: Option<&Lab>, secret: Option<&Secret>) -> Result<Vec<HandIn>> {
    let unpacked =
        tempfile::tempdir().context("no folder for zip files can be made; check the one for temporary files")?;
    let mut room = Room::default();
    let mut folder = given.to_owned();
    if given.is_file() && is_zip(given) {
        folder = unpacked.path().join("class");
        let largest = LARGEST.max(16 << 20) as u64;
        let wanted = |path: &Path| is_wanted(path) || is_zip(path);
        unpack(given, &folder, &mut room, largest, wanted)
            .map_err(|why| anyhow!("{}: {why}", workspace::display(given)))?;
    }
    let folder = top(folder);
    let learners = files::text(&folder.join(METADATA)).map_or_else(|_| BTreeMap::new(), |text| submitters(&text));
    let (labs, entries) = (Lab::all()?, walked(&folder, Some(unpacked.path()), &mut room)?);
    let is_code = |path: &Path| matches!(kind(path), Some("cu" | "rs"));
    let without = |path: &Path| path.with_extension("").to_string_lossy().to_lowercase();
    let code = entries.iter().filter(|found| is_code(&found.path)).map(|found| without(&found.path));
    let code: HashSet<String> = code.collect();
    // PTX next to its source was compiled from it.
    let is_compiled = |path: &Path| kind(path) == Some("ptx") && code.contains(&without(path));
    let own = entries.iter().filter(|found| !is_compiled(&found.path));
    let mut found: Vec<HandIn> = own.filter_map(|found| hand_in(found, &labs, only, &learners)).collect();
    ensure!(
        !found.is_empty(),
        "{} holds no hand-in (step03.cu is one for lab 3 only); give the folder with the .cu or .rs files, or the students'",
        workspace::display(given)
    );
    if let Some(secret) = secret {
        for one in &mut found {
            let lab = one.lab.as_ref().filter(|lab| only.is_some() || one.is_transfer || lab.seed().is_some());
            let base = lab.and_then(|lab| {
                labs.iter().find(|base| (base.host, base.kernel.name()) == (lab.host, lab.kernel.name()))
            });
            // A lab without tasks to draw is graded as it is.
            one.lab = base.and_then(|base| secret.task(base, &one.who).ok()).or(one.lab.take());
        }
    }
    for Found { path, of, .. } in &entries {
        let (whose, number) = who(path, &learners);
        if of.is_dir() && path.components().count() == 1 && found.iter().all(|one| one.who != whose) {
            let kernel = Err("there is no .cu or .rs file for this lab in the folder".to_owned());
            let (file, lab) = (workspace::escaped(path), only.cloned());
            found.push(HandIn { who: whose, number, file, lab, kernel, headers: vec![], is_transfer: false });
        }
    }
    found.sort_by(|one, other| (&one.who, &one.file).cmp(&(&other.who, &other.file)));
    Ok(found)
}

/// The folder with the hand-ins, if a platform has put one around it.
fn top(folder: PathBuf) -> PathBuf {
    let mut within = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let (Some(only), None) = (within.next(), within.next()) else { return folder };
    let is_export = only.file_name().to_string_lossy().ends_with("_export") || only.path().join(METADATA).is_file();
    if is_export && only.path().is_dir() { only.path() } else { folder }
}

/// Of each folder, the first submitter's name and number.
fn submitters(metadata: &str) -> BTreeMap<String, (String, String)> {
    let (mut all, mut folder) = (BTreeMap::<String, (String, String)>::new(), String::new());
    let first = |kept: &mut String, value: &str| {
        if kept.is_empty() {
            value.clone_into(kept);
        }
    };
    for line in metadata.lines() {
        let value =
            |key| Some(line.trim().trim_start_matches("- ").strip_prefix(key)?.trim().trim_matches(['"', '\'']));
        if !line.starts_with([' ', '-']) {
            line.trim_end_matches(':').clone_into(&mut folder);
        } else if let Some(name) = value(":name:") {
            first(&mut all.entry(folder.clone()).or_default().0, name);
        } else if let Some(number) = value(":sid:") {
            first(&mut all.entry(folder.clone()).or_default().1, number);
        }
    }
    all
}

/// Whose a file is, and their number: from the first folder, or from the file's name without its extension.
fn who(path: &Path, learners: &BTreeMap<String, (String, String)>) -> (String, String) {
    let first: &Path = path.components().next().map_or(path, |first| first.as_os_str().as_ref());
    let alone = path.components().count() == 1 && (kind(path).is_some() || is_zip(path));
    let name = workspace::escaped(&if alone { first.with_extension("") } else { first.to_owned() });
    if let Some((who, number)) = learners.get(&name).filter(|(who, _)| !who.is_empty()) {
        return (workspace::escaped(who.as_ref()), workspace::escaped(number.as_ref()));
    }
    platform(&name).unwrap_or((name, String::new()))
}

/// The name and the number in what Moodle and Canvas call a hand-in: `Ada Lovelace_1234_assignsubmission_file`, and
/// `lovelaceada_LATE_1234_98765_step04.cu`.
fn platform(name: &str) -> Option<(String, String)> {
    let is_number = |word: &&str| word.len() >= 3 && word.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((before, _)) = name.split_once("_assignsubmission_") {
        let (who, number) = before.rsplit_once('_').filter(|(_, number)| is_number(number))?;
        return Some((who.to_owned(), number.to_owned()));
    }
    let words: Vec<&str> = name.split('_').collect();
    let at = words.windows(2).position(|pair| pair.iter().all(is_number)).filter(|at| *at > 0)?;
    let who: Vec<&str> = words[..at].iter().copied().filter(|word| *word != "LATE").collect();
    Some((who.join("_"), words[at].to_owned()))
}

fn hand_in(
    found: &Found,
    labs: &[Lab],
    only: Option<&Lab>,
    learners: &BTreeMap<String, (String, String)>,
) -> Option<HandIn> {
    let Found { path, at, of, broken } = found;
    let stem = path.file_stem()?.to_string_lossy().into_owned();
    let own = lab_named(&stem, labs);
    let kept = own.is_some() && stem.rsplit_once('.').is_some_and(|(_, last)| is_kept(last));
    let subject = |lab: &Lab| (lab.host, lab.kernel.name());
    let other = |only: &Lab| own.as_ref().is_some_and(|own| subject(own) != subject(only));
    if of.is_dir() || kept || only.is_some_and(other) {
        return None;
    }
    let folders = || {
        let mut names = path.ancestors().skip(1).filter_map(Path::file_name);
        names.find_map(|name| lab_named(&name.to_string_lossy(), labs))
    };
    let lab = only.cloned().or(own).or_else(folders);
    // A program's folder has the lab's kernel as well, and copies that the course keeps.
    if lab.as_ref().is_some_and(|lab| lab.host) && (kind(path) != Some("rs") || stem.contains('.')) {
        return None;
    }
    let kernel = match (&lab, broken) {
        (_, Some(why)) => Err(why.clone()),
        _ if !of.is_file() => Err("it is a link or a pipe and no file of its own".to_owned()),
        (None, _) => Err("no lab is named; call the file step04.cu, say, or give --lab".to_owned()),
        (Some(_), _) => read(at),
    };
    // In the folder of the class, other students' files would lie beside it.
    let headers = if path.components().count() > 1 { headers(at) } else { vec![] };
    let (who, number) = who(path, learners);
    let is_transfer = stem.to_lowercase().contains("transfer");
    Some(HandIn { who, number, file: workspace::escaped(path), lab, kernel, headers, is_transfer })
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
        let learners = submitters(
            "submission_11:\n  :submitters:\n  - :name: Ada Lovelace\n    :sid: '1815'\n  - :name: Bob\n    :sid: '7'\n  :score: 0\n",
        );
        for (path, name, number) in [
            ("ada.lovelace.cu", "ada.lovelace", ""),
            ("ada\n/a/step04.cu", "ada\\n", ""),
            ("Ada Lovelace_1815_assignsubmission_file/step04.cu", "Ada Lovelace", "1815"),
            ("lovelaceada_1815_98765_step04-1.cu", "lovelaceada", "1815"),
            ("lovelaceada_LATE_1815_98765_step04.zip", "lovelaceada", "1815"),
            ("submission_11/step04.cu", "Ada Lovelace", "1815"),
            ("ada_4_2/step04.cu", "ada_4_2", ""),
        ] {
            assert_eq!(who(Path::new(path), &learners), (name.to_owned(), number.to_owned()));
        }
        assert!(is_kept("task12") && is_kept("3") && !is_kept("final") && !is_kept("task"));
    }
}
