//! What can go wrong with several processes: each says one sentence and ends with status 2, within 30 seconds.

use std::io::Read as _;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use wait_timeout::ChildExt as _;

/// Starts a rank, or a process alone if `rank` is none.
fn start(rank: Option<(usize, usize, u16)>, arguments: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_beyond"));
    command.arg("several").args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for name in ["RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"] {
        command.env_remove(name);
    }
    if let Some((rank, world, port)) = rank {
        let variables =
            [("RANK", rank.to_string()), ("WORLD_SIZE", world.to_string()), ("MASTER_PORT", port.to_string())];
        command.envs(variables);
    }
    command.spawn().unwrap()
}

/// Status and standard error of a process that ends within 30 seconds.
fn ended(mut child: Child) -> (Option<i32>, String) {
    let Some(status) = child.wait_timeout(Duration::from_secs(30)).unwrap() else {
        child.kill().unwrap();
        panic!("a rank still runs after 30 s");
    };
    let mut text = String::new();
    child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    (status.code(), text)
}

/// A port that nobody has.
fn port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Every rank says this one sentence and ends with status 2.
fn all_say(ranks: Vec<Child>, sentence: &str) {
    for (status, text) in ranks.into_iter().map(ended) {
        assert_eq!((status, text.trim_end()), (Some(2), format!("error: {sentence}").as_str()));
    }
}

#[test]
fn ranks_in_processes_of_their_own_give_the_product() {
    let port = port();
    let arguments = ["--device", "sim", "--size", "33x40x50", "--json"];
    let mut ranks: Vec<Child> = (0..4).map(|rank| start(Some((rank, 4, port)), &arguments)).collect();
    let mut first = ranks.remove(0);
    assert!(first.wait_timeout(Duration::from_secs(30)).unwrap().unwrap().success());
    let mut text = String::new();
    first.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    let outcome: beyond::several::run::Outcome = serde_json::from_str(&text).unwrap();
    assert!(outcome.right() && outcome.grid == [2, 2] && outcome.size == [33, 40, 50], "{text}");
    for rank in ranks {
        assert_eq!(ended(rank), (Some(0), String::new()));
    }
}

#[test]
fn a_rank_that_is_killed_ends_all_others() {
    for victim in [2, 0] {
        let port = port();
        // Far more work than is done before the kill.
        let arguments = ["--device", "sim", "--size", "1500"];
        let mut ranks: Vec<Child> = (0..4).map(|rank| start(Some((rank, 4, port)), &arguments)).collect();
        std::thread::sleep(Duration::from_secs(2));
        let mut killed = ranks.remove(victim);
        killed.kill().unwrap();
        killed.wait().unwrap();
        let begin = Instant::now();
        let sentence =
            format!("rank {victim} has ended without a word; look at what it printed last, and start all ranks again");
        all_say(ranks, &sentence);
        assert!(begin.elapsed() < Duration::from_secs(30));
    }
}

#[test]
fn a_rank_that_was_started_otherwise_is_named_by_all() {
    for (option, other, value) in [("--size", "64", "64x64x64"), ("--seed", "7", "7")] {
        let port = port();
        let usual = if option == "--size" { "32x32x32" } else { "1" };
        let start = |rank| {
            let mut arguments = vec!["--device", "sim", "--size", "32"];
            if rank == 1 {
                match option {
                    "--size" => arguments[3] = other,
                    _ => arguments.extend([option, other]),
                }
            }
            start(Some((rank, 3, port)), &arguments)
        };
        let sentence = format!(
            "rank 1 was started with {option} {value} and rank 0 with {option} {usual}; start all ranks with the same options"
        );
        all_say((0..3).map(start).collect(), &sentence);
    }
}

#[test]
fn an_address_that_does_not_answer_is_said() {
    let port = port();
    let sentence = format!(
        "rank 1 finds nobody at 127.0.0.1:{port} within 20 s (connection refused); start rank 0 there, or set MASTER_ADDR and MASTER_PORT to where it is"
    );
    all_say(vec![start(Some((1, 2, port)), &["--device", "sim"])], &sentence);
}

#[test]
fn what_cannot_be_started_is_said() {
    for (arguments, says) in [
        (&["--gpus", "0"][..], "error: invalid value '0' for '--gpus <N>'"),
        (&["--gpus", "4", "--grid", "3x2", "--device", "sim"], "error: a grid of 3×2 has 6 GPUs and not 4"),
        (&["--gpus", "4", "--size", "1", "--device", "sim"], "error: C has 1 rows and the grid 2×2"),
        (&["--gpus", "2", "--size", "1000000", "--device", "sim"], "error: the problem does not fit: rank 0 needs 6"),
        (&["--overlap", "maybe"], "error: invalid value 'maybe'"),
        (&["--device", "cuda:3"], "error: invalid value 'cuda:3'"),
    ] {
        let (status, text) = ended(start(None, arguments));
        assert_eq!(status, Some(2), "{arguments:?}: {text}");
        assert!(text.starts_with(says) && text.lines().count() == 1 && text.contains(';'), "{arguments:?}: {text}");
    }
    // More GPUs than any machine has, on a machine with some or with none.
    let (status, text) = ended(start(None, &["--gpus", "4096", "--device", "cuda"]));
    assert_eq!((status, text.lines().count()), (Some(2), 1), "{text}");
}

#[test]
fn a_missing_nccl_is_said() {
    if let Err(error) = beyond::several::nccl::present() {
        let error = error.to_string();
        assert!(error.contains("NCCL") && error.contains(';'), "{error}");
    }
}
