//! The solutions of transfer tasks are kept by whoever maintains the course, outside of the repository. If their folder is given, they
//! are graded, and how much each changes of the course's kernel is compared with what the lab says.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;

use super::labs::{grade, root, stem, write};
use super::support::{course, mine, needs_nvrtc, trial};

/// The folder with the solutions: files `LAB-KIND.cu`, whose first line is `// base: FILE`, the kernel of the course that is changed.
/// ALPHA, BETA and TILE stand for the numbers of a task.
const SOLUTIONS: &str = "COURSE_SOLUTIONS";

pub fn trials() -> Vec<Trial> {
    let labs = (1..=6).map(|lab: u32| {
        let (lab, name) = (lab.to_string(), format!("the_shortest_solutions_of_lab_{lab}"));
        match std::env::var_os(SOLUTIONS).map(PathBuf::from) {
            Some(folder) => needs_nvrtc(trial(name, move || solved(&lab, &folder))),
            None => trial(name, || Ok(())).with_kind(format!("{SOLUTIONS} names no folder")).with_ignored_flag(true),
        }
    });
    let own = needs_nvrtc(trial("each_learner_is_graded_by_the_task_that_the_secret_draws", own_tasks));
    labs.chain([own]).collect()
}

/// Two learners who swap their files are graded by their own tasks all the same, and by others with another secret.
fn own_tasks() -> Result<()> {
    let folder = mine("secret")?;
    let at = |name: &str| folder.join(name).display().to_string();
    let (one, other, names, csv) = (at("one"), at("other"), at("names"), at("class.csv"));
    std::fs::write(&names, "# the class\nada\nBob Example, 1815\n")?;
    for secret in [&one, &other] {
        let made = course(&["secret", secret], &[], "")?;
        let key = std::fs::read_to_string(secret)?;
        let hidden = key.trim().rsplit(' ').next().is_some_and(|key| !made.text().contains(key));
        ensure!(made.status == Some(0) && hidden, "{}", made.text());
    }
    course(&["secret", &one, "--lab", "2", "--learners", &names, "--out", &at("tasks")], &[], "")?;
    let number_of = |who: &str| -> Result<(String, PathBuf)> {
        let file = std::fs::read_dir(folder.join("tasks").join(who))?.next().context("no task")??.path();
        let name = file.file_stem().unwrap_or_default().to_string_lossy().replace("step02-transfer", "2-");
        Ok((name, file))
    };
    let ((ada, of_ada), (bob, of_bob)) = (number_of("ada")?, number_of("Bob Example")?);
    ensure!(ada != bob, "one task for two learners");
    for (file, to) in [(&of_ada, "class/bob_example"), (&of_bob, "class/Ada")] {
        std::fs::create_dir_all(folder.join(to))?;
        std::fs::copy(file, folder.join(to).join(file.file_name().context("no name")?))?;
    }
    let graded = |secret: &str| -> Result<String> {
        let _ = std::fs::remove_file(&csv);
        let said = course(&["grade", &at("class"), "--secret", secret, "--csv", &csv], &[], "")?;
        ensure!(said.status == Some(0), "{}", said.text());
        Ok(std::fs::read_to_string(&csv)?)
    };
    let table = graded(&one)?;
    for (who, task) in [("Ada", &ada), ("bob_example", &bob)] {
        ensure!(table.contains(&format!("\"{who}\",\"\",\"{task}\"")), "{who} has {task}: {table}");
    }
    let table = graded(&other)?;
    ensure!(!table.contains(&ada) && !table.contains(&bob), "the task does not follow from the secret: {table}");
    Ok(())
}

/// A task of each kind that a lab has: its name for the command line, and its start.
fn tasks(lab: &str) -> Result<Vec<(Value, String, String)>> {
    let step = std::fs::read_dir(root())?.flatten().map(|entry| entry.path());
    let step = step.into_iter().find(|path| stem(&path.to_string_lossy()).starts_with(&format!("step0{lab}_")));
    let data = std::fs::read_to_string(step.context("no step")?.join("lab/lab.json"))?;
    let data: Value = serde_json::from_str(&data)?;
    let folder = mine(&format!("transfer-{lab}"))?;
    let mut found = BTreeMap::new();
    for seed in 1..30 {
        let name = format!("{lab}-{seed}");
        course(&["lab", &name], &[(course::mine::VARIABLE, &folder)], "")?;
        let file = folder.join(format!("step0{lab}-transfer{seed}.cu"));
        let start = std::fs::read_to_string(file)?;
        // The line under the title tells the kinds apart; numbers are drawn.
        let key: String =
            start.lines().take(4).collect::<String>().chars().filter(|c| !"0123456789+-".contains(*c)).collect();
        found.entry(key).or_insert((name, start));
    }
    let kinds = data["transfer"].as_array().context("no tasks")?.clone();
    ensure!(found.len() == kinds.len(), "lab {lab} draws {} kinds of {}", found.len(), kinds.len());
    let kind_of = |start: &str| {
        let about = |kind: &&Value| {
            kind["about"]
                .as_array()
                .is_some_and(|lines| lines.iter().filter_map(Value::as_str).all(|line| start.contains(line)))
        };
        kinds.iter().filter(about).max_by_key(|kind| kind["about"].to_string().len()).cloned()
    };
    found.into_values().map(|(name, start)| Ok((kind_of(&start).context(start.clone())?, name, start))).collect()
}

/// Everything above the kernel in a task's start, with the drawn numbers as constants.
fn head(start: &str) -> Result<String> {
    let (head, _) = start.split_once("extern \"C\"").context("no kernel")?;
    let title = head.lines().next().unwrap_or_default();
    let number = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    let (alpha, beta) = match title.split_once("C = ").and_then(|(_, rest)| rest.split_once('·')) {
        Some((alpha, rest)) if alpha.parse::<u32>().is_ok() => {
            let beta = rest.split_once("·C").map_or("", |(before, _)| before);
            (alpha.to_owned(), number(beta.rfind(['+', '-']).map_or("", |at| &beta[at..])))
        }
        _ => ("1".into(), "0".into()),
    };
    Ok(format!("{head}#define ALPHA {alpha}\n#define BETA ({beta})\n"))
}

fn solved(lab: &str, folder: &Path) -> Result<()> {
    for (task, name, start) in tasks(lab)? {
        let kind = task["kind"].as_str().unwrap_or_default();
        let file = folder.join(format!("{lab}-{kind}.cu"));
        let solution = std::fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let (base, text) = solution.split_once('\n').unwrap_or_default();
        let base = std::fs::read_to_string(root().join(base.trim_start_matches("// base: ")))?;
        let kernel = write(&format!("solved_{lab}_{kind}"), &format!("{}{text}", head(&start)?))?;
        let (said, status) = grade(&name, &kernel)?;
        ensure!(status == Some(0), "{name} is not solved: {said}");
        let lines = |one: &str, other: &str| {
            let mut left: Vec<&str> = other.lines().collect();
            let is_new = |line: &&str| left.iter().position(|old| old == line).map(|at| left.swap_remove(at)).is_none();
            one.lines().filter(is_new).count()
        };
        let changed = lines(text, &base).max(lines(&base, text));
        ensure!(Some(changed as u64) == task["changed"].as_u64(), "{kind} of lab {lab} changes {changed} lines");
    }
    Ok(())
}
