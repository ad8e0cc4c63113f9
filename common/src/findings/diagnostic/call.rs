//! Calls that the simulator cannot follow: of itself, or of what only a GPU's driver brings. One sentence each, with
//! the learner's line.

use simt::Location;

use super::race::at;

/// What to do about a call of the function of this name in the PTX.
pub fn call(function: &str, recursive: bool, location: &Location) -> String {
    let (line, name) = (at(location), plain_name(function));
    if recursive {
        return format!(
            "{line} calls {name}() before {name}() has returned, and the simulator runs no recursion; write it as a loop"
        );
    }
    match function {
        "malloc" | "free" => format!(
            "{line} calls malloc() or free(), new or delete, and the simulator has no memory for a kernel to ask for; \
             declare an array of constant size, or a __shared__ one"
        ),
        _ if name.starts_with("__dp") => format!(
            "{line} calls {name}(), which NVRTC only declares; #include <sm_61_intrinsics.hpp> brings it, with \
             pip install nvidia-cuda-runtime-cu12==12.1.105"
        ),
        _ => format!("{line} calls {name}(), which is not in the file; define it there, as a __device__ function"),
    }
}

/// The name as the source has it: `sum_of` for `_Z6sum_ofPKfi`.
fn plain_name(mangled: &str) -> &str {
    let Some(rest) = mangled.strip_prefix("_Z") else { return mangled };
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let length: usize = rest[..digits].parse().unwrap_or(0);
    rest.get(digits..digits + length).filter(|name| !name.is_empty()).unwrap_or(mangled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_has_its_line_its_name_and_a_way_out() {
        let location = Location { file: Some("k.cu".into()), line: Some(7), ..Location::default() };
        for (function, recursive, words) in [
            ("_Z6sum_ofPKfi", true, ["line 7 calls sum_of() before sum_of() has returned", "write it as a loop"]),
            ("malloc", false, ["line 7 calls malloc()", "__shared__"]),
            ("free", false, ["or free()", "__shared__"]),
            ("_Z6__dp4aiii", false, ["line 7 calls __dp4a()", "sm_61_intrinsics.hpp"]),
            ("_Z3dotPKf", false, ["line 7 calls dot()", "__device__"]),
            ("_ZN4math3dotEv", false, ["calls _ZN4math3dotEv()", "not in the file"]),
            ("_Z9short", false, ["calls _Z9short()", "not in the file"]),
        ] {
            let text = call(function, recursive, &location);
            assert!(words.iter().all(|words| text.contains(words)), "{text}");
        }
    }
}
