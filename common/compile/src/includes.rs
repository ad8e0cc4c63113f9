//! The headers that a kernel includes: those beside it and those of its step. A compiler opens whatever file it is told to and quotes
//! from it, so nothing else of this machine is offered to it.

use std::path::{Component, Path, PathBuf};

use anyhow::{Result, bail, ensure};

use system::files::LARGEST;
use system::{escape, files};

/// Headers: the name under which each is included, its text, and its file as people should see it.
pub type Headers = Vec<[String; 3]>;

/// Headers that a kernel may include.
const MOST: usize = 256;

/// Collects what a text includes from these folders, and what those headers include, in order. What is not found there is left to the
/// compiler, which looks among its own headers only. `display` gives the name of a file as people should see it.
pub fn headers(text: &str, folders: &[PathBuf], display: &dyn Fn(&Path) -> String) -> Result<Headers> {
    let mut headers = Headers::new();
    collect(text, folders, display, &mut headers)?;
    // A macro of one text may join names of another.
    let texts: Vec<String> = headers.iter().map(|[_, text, _]| text.as_str()).chain([text]).map(whole).collect();
    let joins = texts.iter().any(|text| text.contains("##") || text.contains("%:%:"));
    ensure!(
        !texts.iter().any(|text| pastes_question(text, joins)),
        "it asks for a header by a name that a macro forms; write __has_include in one piece"
    );
    Ok(headers)
}

fn collect(text: &str, folders: &[PathBuf], display: &dyn Fn(&Path) -> String, headers: &mut Headers) -> Result<()> {
    for name in included(text)? {
        if headers.iter().any(|[known, ..]| *known == name) {
            continue;
        }
        let found = folders.iter().find_map(|folder| Some((folder.join(&name), beside(folder, &name)?)));
        let Some((file, text)) = found else { continue };
        headers.push([name, text.clone(), display(&file)]);
        let bytes: usize = headers.iter().map(|[_, text, _]| text.len()).sum();
        ensure!(
            headers.len() < MOST && bytes as u64 <= LARGEST,
            "it includes more than {MOST} headers, or more than {LARGEST} bytes of them; include less"
        );
        let own = file.parent().map(Path::to_owned).into_iter();
        let folders: Vec<PathBuf> =
            own.chain(folders.iter().filter(|known| Some(known.as_path()) != file.parent()).cloned()).collect();
        collect(&text, &folders, display, headers)?;
    }
    Ok(())
}

/// The text of a file in a folder or below it, without a way out of it: no absolute path, no `..`, and no link to elsewhere.
pub fn beside(folder: &Path, name: &str) -> Option<String> {
    let file = folder.join(name).canonicalize().ok()?;
    let inside = is_plain(name) && file.starts_with(folder.canonicalize().ok()?);
    inside.then(|| files::text(&file).ok()).flatten().map(|text| escape(&text))
}

fn is_plain(name: &str) -> bool {
    !name.contains('\\')
        && Path::new(name).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

/// The names that a text includes or asks for. Directives within comments and strings count, too: only the compiler knows for sure
/// what those are.
fn included(text: &str) -> Result<Vec<String>> {
    let text = whole(text);
    let mut names = Vec::new();
    for (at, sign) in text.match_indices(['#', '%', '_']) {
        let rest = &text[at..];
        let before = text[..at].rsplit('\n').next().unwrap_or_default().trim_end();
        let first = before.is_empty() || before.ends_with("*/");
        let directive = rest.strip_prefix('#').or(rest.strip_prefix("%:")).map(blank);
        let rest = match (directive, rest.strip_prefix(QUESTION)) {
            (Some(rest), _) if first => rest.strip_prefix("include"),
            (_, Some(rest)) if sign == "_" => Some(rest),
            _ => None,
        };
        let Some(rest) = rest.map(|rest| rest.strip_prefix("_next").unwrap_or(rest)) else { continue };
        if rest.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let rest = blank(rest);
        let rest = rest.strip_prefix('(').map_or(rest, blank);
        let quoted = rest.strip_prefix('"').and_then(|rest| rest.split_once(['"', '\n']));
        let Some((name, _)) = quoted.or_else(|| rest.strip_prefix('<').and_then(|rest| rest.split_once(['>', '\n'])))
        else {
            // `#ifdef __has_include` names no header, and neither does `defined(__has_include)`. Anything else could be a second name.
            let asks = before.trim_end_matches('(').trim_end();
            if sign == "_" && ["ifdef", "ifndef", "defined"].iter().any(|word| asks.ends_with(word)) {
                continue;
            }
            bail!("it includes a name that a macro forms; write the header's name in its place")
        };
        ensure!(
            is_plain(name),
            "it includes {}, and only headers beside the kernel can be included; put it there, and name it without a path",
            escape(name)
        );
        names.push(name.to_owned());
    }
    Ok(names)
}

/// A text with each line in one piece: it goes on after a backslash at its end, of which returns are no part, however many there are.
fn whole(text: &str) -> String {
    let lines: Vec<&str> = text.split('\n').map(|line| line.trim_end_matches('\r')).collect();
    lines.join("\n").replace("\\\n", "")
}

/// Whether a macro could form `__has_include` of parts: the first of them is a beginning of that name, which nothing else is called.
/// The shortest two may be, if no macro joins names.
fn pastes_question(text: &str, joins: bool) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|name| {
        !name.is_empty() && name.len() < QUESTION.len() && QUESTION.starts_with(name) && (name.len() > 2 || joins)
    })
}

const QUESTION: &str = "__has_include";

/// What follows blanks and comments.
fn blank(text: &str) -> &str {
    let rest = text.trim_start_matches([' ', '\t', '\u{b}', '\u{c}', '\r']);
    match rest.strip_prefix("/*").and_then(|comment| comment.split_once("*/")) {
        Some((_, rest)) => blank(rest),
        None => rest,
    }
}

#[cfg(test)]
mod tests {
    use system::escaped;

    use super::*;

    #[test]
    fn no_way_of_writing_it_hides_an_include() {
        for way in [
            "#include \"/etc/passwd\"",
            "  #  include</etc/passwd>",
            "%:include \"../x.h\"",
            "#/**/include/**/\"/etc/passwd\"",
            "#inc\\\nlude \"/etc/\\\r\npasswd\"",
            "#inc\\\r\r\nlude \"/etc/passwd\"",
            "/* a\n */ #include \"a/../../x.h\"",
            "#include_next \"/etc/passwd\"",
            "#\u{b}include\u{c}\"/etc/passwd\"",
            "#if __has_include( \"/etc/passwd\" )",
            "#define X \"/etc/passwd\"\n#include X",
            "#define H __has_include\n#if H(\"/etc/passwd\")",
            "#define P(x) x(\"/etc/passwd\")\n#if P(__has_include)",
            "const char* s = R\"(\" /* )\";\n#include \"/etc/passwd\"",
            "#include \"..\\x.h\"",
            "#define P(a, b) a##b\n#if P(__has_,include)(\"/etc/passwd\")",
            "#define P(a, b) a%:%:b\n#define Q P(_, P(_has, _include))(</etc/passwd>)\n#if Q",
        ] {
            let error = headers(way, &[], &escaped).unwrap_err().to_string();
            assert!(
                error.starts_with("it includes ") || error.starts_with("it asks for a header by a name "),
                "{error}"
            );
        }
        for plain in [
            "// an #include is \"/no\" directive here",
            "#includes",
            "int x__has_includes;",
            "#ifdef __has_include",
            "#if defined(__has_include) && X",
            "#ifndef\t__has_include\n#endif",
            "auto [x, _] = f();",
        ] {
            assert_eq!(included(plain).unwrap(), Vec::<String>::new(), "{plain}");
        }
        assert_eq!(included("#include <a/b.h>\n#include \"./c.h\" // c").unwrap(), ["a/b.h", "./c.h"]);
    }

    #[test]
    fn headers_lie_beside_the_kernel_and_below() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("in");
        std::fs::create_dir_all(inside.join("sub")).unwrap();
        let write = |name: &str, text: &str| std::fs::write(inside.join(name), text).unwrap();
        write("sub/a.h", "#include \"b.h\"");
        write("sub/b.h", "#include \"b.h\"\n#include \"a.h\"\n");
        write("../secret.h", "secret");
        #[cfg(unix)]
        std::os::unix::fs::symlink("../secret.h", inside.join("link.h")).unwrap();
        let text = "#include \"sub/a.h\"\n#include <link.h>\n#include <none.h>";
        let found = headers(text, std::slice::from_ref(&inside), &escaped).unwrap();
        let names: Vec<&str> = found.iter().map(|[name, ..]| name.as_str()).collect();
        assert_eq!(names, ["sub/a.h", "b.h", "a.h"]);
        assert_eq!(beside(&inside, "../secret.h"), None);
        write("join.h", "#define P(a, b) a##b\n");
        let text = "#include \"join.h\"\n#if P(_, _has_include)(\"/etc/passwd\")";
        let error = headers(text, &[inside], &escaped).unwrap_err().to_string();
        assert!(error.starts_with("it asks for a header by a name "), "{error}");
    }
}
