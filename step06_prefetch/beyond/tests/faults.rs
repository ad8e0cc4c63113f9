//! What can go wrong before a product on several GPUs starts: the program prints one sentence and ends with status 2.

use std::process::Command;

/// Status and standard error of `beyond several` with these arguments.
fn ended(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_beyond")).arg("several").args(arguments).output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
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
        let (status, text) = ended(arguments);
        assert_eq!(status, Some(2), "{arguments:?}: {text}");
        assert!(text.starts_with(says) && text.lines().count() == 1 && text.contains(';'), "{arguments:?}: {text}");
    }
    // More GPUs than any machine has, on a machine with some or with none.
    let (status, text) = ended(&["--gpus", "4096", "--device", "cuda"]);
    assert_eq!((status, text.lines().count()), (Some(2), 1), "{text}");
}
