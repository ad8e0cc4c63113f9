//! Many edited kernels in one source, so that the compiler starts once: each in a namespace (a module in Rust) of its own,
//! with a name for its lines that the compiler's log shows again.

use std::collections::BTreeSet;

use super::lexer::Tokens;

/// What the lines of an edited kernel are called in the compiler's log, before its number.
const NAME: &str = "edit";

/// The name of a kernel in the unit.
pub fn entry(name: &str, number: usize) -> String {
    format!("{name}_{number}")
}

/// One source with all of these kernels; `entries` are the functions that a launch may ask for.
pub fn cuda(texts: &[(usize, &str)], entries: &BTreeSet<String>) -> String {
    let mut includes = BTreeSet::new();
    let mut parts = String::new();
    for (number, text) in texts {
        let mut defined = BTreeSet::new();
        let mut body = String::new();
        for line in text.lines() {
            let directive = line.trim_start().strip_prefix('#').map(str::trim_start);
            if let Some(name) = directive.and_then(|rest| rest.strip_prefix("define")).map(str::trim_start) {
                defined.insert(name.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default());
            }
            if directive.is_some_and(|rest| rest.starts_with("include")) {
                includes.insert(line);
                body.push('\n');
            } else {
                body += line;
                body.push('\n');
            }
        }
        parts += &format!("namespace {NAME}{number} {{\n");
        for name in entries {
            parts += &format!("#define {name} {}\n", entry(name, *number));
        }
        parts += &format!("#line 1 \"{NAME}{number}\"\n{body}");
        for name in entries.iter().map(String::as_str).chain(defined) {
            parts += &format!("#undef {name}\n");
        }
        parts += "}\n";
    }
    includes.into_iter().fold(String::new(), |all, line| all + line + "\n") + &parts
}

/// The numbers of the kernels that a compiler's log finds fault with.
pub fn refused(log: &str) -> BTreeSet<usize> {
    let number = |rest: &str| {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let known = rest[digits..].starts_with('(') || rest[digits..].starts_with(':');
        rest[..digits].parse().ok().filter(|_| known)
    };
    let errors = log.lines().filter(|line| line.contains("error"));
    errors.flat_map(|line| line.split(NAME).skip(1).filter_map(number).collect::<Vec<usize>>()).collect()
}

/// The kernels of a source that have names of C: what a launch can ask for.
pub fn entries(tokens: &Tokens) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for at in (0..tokens.all.len()).filter(|&at| tokens.of(at) == "extern" && tokens.of(at + 1) == "\"C\"") {
        // The last name before the brackets that the body follows.
        let mut name = None;
        let mut next = at + 2;
        while next < tokens.all.len() && !matches!(tokens.of(next), "{" | ";") {
            if tokens.of(next) == "(" {
                name = tokens.is_word(next - 1).then(|| tokens.of(next - 1).to_owned()).or(name);
                next = tokens.closing(next);
            }
            next += 1;
        }
        found.extend(name);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_put_beside_each_other_and_found_again_in_a_log() {
        let text = "#include <a.h>\n#define T 16\nextern \"C\" __global__ void __launch_bounds__(T) matmul(int M) {}\n";
        let entries = entries(&Tokens::read(text));
        assert_eq!(entries.iter().collect::<Vec<_>>(), ["matmul"]);
        let unit = cuda(&[(3, text), (7, text)], &entries);
        assert!(unit.starts_with(
            "#include <a.h>\nnamespace edit3 {\n#define matmul matmul_3\n#line 1 \"edit3\"\n\n#define T 16\n"
        ));
        assert_eq!(unit.matches("#undef T\n").count(), 2);
        let log = "edit7(3): error: x\nedit12(1): warning: y\nk.cu(2): error: at edit3(1)\n1 error detected";
        assert_eq!(refused(log).into_iter().collect::<Vec<_>>(), [3, 7]);
    }
}
