//! `cargo course secret`: a class's secret, a file that only the teacher has. What each learner gets follows from it: the transfer task,
//! and the numbers of an exam. Whoever has the course but not the file cannot compute them in advance.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use common::basics::files::not_written;
use common::basics::{io_reason, output, workspace};
use hmac_sha256::HMAC;

use crate::files::{self, parse_file};
use crate::lab::Lab;

#[derive(clap::Args)]
pub struct Options {
    /// The file: it is made if it is not there, is readable by you alone, and is never printed or replaced
    #[arg(value_name = "FILE", value_parser = parse_file())]
    file: PathBuf,
    /// Write a transfer task of this lab for each learner, drawn from the secret and the learner's name
    #[arg(long, requires_all = ["learners", "out"])]
    lab: Option<String>,
    /// The learners' names, one a line, as their folders or files will be called
    #[arg(long, value_name = "LIST", requires = "lab")]
    learners: Option<PathBuf>,
    /// The folder for the tasks: a folder for each learner
    #[arg(long, value_name = "DIR", requires = "lab")]
    out: Option<PathBuf>,
    /// The tasks are to be solved in Rust
    #[arg(long, requires = "lab")]
    rust: bool,
}

pub fn run(options: &Options) -> Result<bool> {
    let (Some(name), Some(list), Some(out)) = (&options.lab, &options.learners, &options.out) else {
        make(&options.file)?;
        let name = workspace::display(&options.file);
        return output::print(&format!(
            "{name} is the secret of your class now\n\
             keep it out of every repository that learners see, and keep a copy\n"
        ))
        .map(|()| true);
    };
    let (secret, lab) = (Secret::read(&options.file)?, Lab::find(name)?);
    ensure!(lab.seed().is_none(), "{name} is one task for all; give the lab alone, e.g. --lab 4");
    let text = files::read(list)?;
    let names = text.lines().map(|line| line.split([',', ';', '\t']).next().unwrap_or_default().trim());
    let names: Vec<&str> = names.filter(|name| !name.is_empty() && !name.starts_with('#')).collect();
    ensure!(!names.is_empty(), "{} names nobody; write one name a line", workspace::display(list));
    for who in &names {
        let drawn = secret.task(&lab, who)?;
        let drawn = if options.rust { drawn.in_rust()? } else { drawn };
        let plain = !who.contains(['/', '\\']) && !who.starts_with('.');
        ensure!(plain, "{who} cannot be the name of a folder; write it without slashes and without a dot in front");
        let file = out.join(who).join(drawn.copy().file_name().unwrap_or_default());
        let (start, _) = drawn.begins_with()?;
        let is_there = files::create(&file, &start)? || files::text(&file).is_ok_and(|old| old == start);
        ensure!(is_there, "{} is there and was changed; choose another folder", workspace::display(&file));
    }
    let (count, out) = (names.len(), workspace::display(out));
    output::print(&format!("{count} transfer tasks of lab {name}, one for each learner: {out}\n")).map(|()| true)
}

/// How the file begins.
const BEGIN: &str = "secret of a class, for cargo course: ";

/// Makes a secret that nobody else can read.
fn make(file: &Path) -> Result<()> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| anyhow!("this system gives no random bytes ({error}); try again"))?;
    let text = format!("{BEGIN}{}\n", bytes.map(|byte| format!("{byte:02x}")).concat());
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.write(true).create_new(true).open(file).and_then(|mut file| file.write_all(text.as_bytes())) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            bail!("{} is there already, and a secret is never replaced; choose another name", workspace::display(file))
        }
        made => made.map_err(|error| not_written(file, &error)),
    }
}

/// What everything that a class must not know in advance is drawn from.
pub struct Secret(Vec<u8>);

impl Secret {
    /// Reads the secret of a file that `cargo course secret` has made.
    pub fn read(file: &Path) -> Result<Self> {
        let name = workspace::display(file);
        let remedy = format!("make a secret with cargo course secret {name}");
        let text =
            files::text(file).map_err(|error| anyhow!("{name} cannot be read ({}); {remedy}", io_reason(&error)))?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let open = std::fs::metadata(file).is_ok_and(|data| data.permissions().mode() & 0o077 != 0);
            ensure!(!open, "{name} can be read by others; take that away with chmod 600 {name}");
        }
        let key = text.strip_prefix(BEGIN).map(str::trim).filter(|key| key.len() == 64);
        let key = key.with_context(|| format!("{name} is not the secret of a class; name another file"))?;
        Ok(Self(key.as_bytes().to_vec()))
    }

    /// A number for a purpose. It tells nothing about the secret or about any other number.
    pub fn number(&self, purpose: &[&str]) -> u64 {
        let hash = HMAC::mac(purpose.join("\0").as_bytes(), &self.0);
        // A spreadsheet and JSON keep so many digits.
        u64::from_be_bytes(hash[..8].try_into().unwrap_or_default()) >> 20
    }

    /// The transfer task of a learner, however the name is written.
    pub fn task(&self, lab: &Lab, who: &str) -> Result<Lab> {
        let who: String = who.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect();
        lab.drawn(self.number(&["task", &lab.name, &who]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_made_once_and_what_follows_from_it_follows_from_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let [one, other] = ["one", "other"].map(|name| folder.path().join(name));
        make(&one).unwrap();
        make(&other).unwrap();
        let text = std::fs::read_to_string(&one).unwrap();
        assert!(make(&one).unwrap_err().to_string().ends_with("choose another name"));
        assert_eq!(std::fs::read_to_string(&one).unwrap(), text);
        let [one_read, other_read] = [&one, &other].map(|file| Secret::read(file).unwrap());
        let lab = Lab::find("4").unwrap();
        let number = |secret: &Secret, who| secret.task(&lab, who).unwrap().transfer.unwrap().seed;
        assert_eq!(number(&one_read, "Ada Lovelace"), number(&one_read, "ada_lovelace"));
        assert_ne!(number(&one_read, "ada"), number(&one_read, "bob"));
        assert_ne!(number(&one_read, "ada"), number(&other_read, "ada"));
        std::fs::write(&one, "my own words").unwrap();
        assert!(Secret::read(&one).is_err());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |file: &Path| std::fs::metadata(file).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(&other), 0o600);
            std::fs::set_permissions(&other, std::fs::Permissions::from_mode(0o644)).unwrap();
            assert!(Secret::read(&other).err().unwrap().to_string().contains("can be read by others"));
        }
    }
}
