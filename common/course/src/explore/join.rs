//! The page's files as one file: its modules joined, its style and its data inside.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail, ensure};
use common::basics::workspace;

use crate::files::read;

/// The script that runs beside the page, and is kept as a text: the page starts it from there.
const WORKER: &str = "worker.js";

/// A module: what it imports, and its text without imports and exports.
struct Module {
    imports: BTreeSet<String>,
    text: String,
}

/// Reads a module.
fn module(name: &str, source: &str) -> Result<Module> {
    let mut imports = BTreeSet::new();
    let mut text = String::new();
    let mut rest = source;
    while !rest.is_empty() {
        let end = rest.find('\n').map_or(rest.len(), |end| end + 1);
        let line = &rest[..end];
        if line.starts_with("import ") {
            let end =
                rest.find(';').with_context(|| format!("{name}: an import has no end; end it with a semicolon"))? + 1;
            let statement = &rest[..end];
            let file = statement.split(['"', '\'']).nth(1).and_then(|file| file.strip_prefix("./"));
            let file = file
                .with_context(|| format!("{name}: {statement} names no file of the page; import from \"./NAME.js\""))?;
            ensure!(
                !statement.contains(" as ") && (statement.contains('{') || statement.starts_with("import \"")),
                "{name}: {statement} renames what it imports; import names as they are, in braces"
            );
            imports.insert(file.to_owned());
            rest = rest[end..].strip_prefix('\n').unwrap_or(&rest[end..]);
            continue;
        }
        let line = match line.strip_prefix("export ") {
            Some(declared) if declared.starts_with(['{', '*']) || declared.starts_with("default") => {
                bail!("{name}: {} cannot be joined; export declarations", line.trim())
            }
            Some(declared) => declared,
            None => line,
        };
        text += line;
        rest = &rest[end..];
    }
    Ok(Module { imports, text })
}

/// The modules joined, each after those that it imports.
fn joined(modules: &BTreeMap<String, Module>, first: &str) -> Result<String> {
    fn add(
        modules: &BTreeMap<String, Module>,
        name: &str,
        path: &mut Vec<String>,
        done: &mut BTreeSet<String>,
        text: &mut String,
    ) -> Result<()> {
        if done.contains(name) {
            return Ok(());
        }
        ensure!(
            !path.iter().any(|above| above == name),
            "{name} imports itself by way of {}; break the circle",
            path.join(", ")
        );
        let module = modules.get(name).with_context(|| format!("{name} is imported and is not there"))?;
        path.push(name.to_owned());
        for import in &module.imports {
            add(modules, import, path, done, text)?;
        }
        path.pop();
        done.insert(name.to_owned());
        *text += &format!("// {name}\n{}\n", module.text.trim_end());
        Ok(())
    }
    let (mut text, mut done) = (String::new(), BTreeSet::new());
    add(modules, first, &mut vec![], &mut done, &mut text)?;
    let left = modules.keys().find(|name| !done.contains(*name));
    ensure!(left.is_none(), "{} is imported by no module; remove it", left.map_or("", String::as_str));
    let mut names = BTreeSet::new();
    for name in text.lines().filter_map(declared) {
        ensure!(names.insert(name), "two modules declare {name}; give one of them another name");
    }
    Ok(text)
}

/// The name that a line declares for the whole page.
fn declared(line: &str) -> Option<&str> {
    let rest =
        ["async function ", "function ", "const ", "let ", "class "].iter().find_map(|word| line.strip_prefix(word))?;
    let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '$').next()?;
    (!name.is_empty()).then_some(name)
}

/// A text that can stand in a script.
fn inside_script(text: &str) -> String {
    text.replace("</script", "<\\/script")
}

/// How every page begins, up to its style.
pub fn head() -> Result<String> {
    let html = read(&workspace::root().join("common/explorer/page/index.html"))?;
    Ok(html.split("<link").next().unwrap_or_default().to_owned())
}

/// The page in one file; `scripts` are those of its data.
pub fn page(scripts: &str) -> Result<String> {
    let folder = &workspace::root().join("common/explorer/page");
    let mut html = read(&folder.join("index.html"))?;
    let mut modules = BTreeMap::new();
    let mut worker = String::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("{} cannot be read", workspace::display(folder)))? {
        let path = entry?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name == WORKER {
            worker = read(&path)?;
        } else if path.extension().is_some_and(|extension| extension == "js") {
            modules.insert(name.clone(), module(&name, &read(&path)?)?);
        }
    }
    let mut replace = |what: &str, by: &str| -> Result<()> {
        ensure!(html.matches(what).count() == 1, "page/index.html has not exactly one {what}");
        html = html.replace(what, by);
        Ok(())
    };
    let style = read(&folder.join("style.css"))?;
    replace("<link rel=\"stylesheet\" href=\"style.css\">", &format!("<style>\n{style}</style>"))?;
    let worker = format!("<script type=\"text/plain\" id=\"explorer-worker\">\n{}</script>", inside_script(&worker));
    let main = joined(&modules, "main.js")?;
    replace(
        "<script type=\"module\" src=\"main.js\"></script>",
        &format!("{worker}\n<script type=\"module\">\n{}</script>", inside_script(&main)),
    )?;
    replace("<!-- data -->", scripts)?;
    Ok(html)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modules(all: &[(&str, &str)]) -> Result<BTreeMap<String, Module>> {
        all.iter().map(|(name, text)| Ok(((*name).to_owned(), module(name, text)?))).collect()
    }

    #[test]
    fn modules_follow_what_they_import() {
        let all = modules(&[
            ("main.js", "import {\n  b,\n} from \"./b.js\";\nimport { a } from './a.js';\n\na(b);\n"),
            ("b.js", "import { a } from \"./a.js\";\nexport const b = a();\n"),
            ("a.js", "export function a() {\n  return 1;\n}\n"),
        ]);
        let text = joined(&all.unwrap(), "main.js").unwrap();
        assert_eq!(text, "// a.js\nfunction a() {\n  return 1;\n}\n// b.js\nconst b = a();\n// main.js\n\na(b);\n");
    }

    #[test]
    fn what_cannot_be_joined_is_refused() {
        let error = |all: &[(&str, &str)]| {
            modules(all).and_then(|modules| joined(&modules, "main.js")).unwrap_err().to_string()
        };
        assert!(error(&[("main.js", "import { a as b } from \"./a.js\";\n")]).contains("renames"));
        assert!(error(&[("main.js", "import \"elsewhere\";\n")]).contains("names no file"));
        assert!(error(&[("main.js", "import { a } from \"./a.js\";\n")]).contains("is not there"));
        assert!(error(&[("main.js", ""), ("b.js", "")]).contains("b.js is imported by no module"));
        assert!(error(&[("main.js", "export default 3;\n")]).contains("cannot be joined"));
        let circle =
            [("main.js", "import { a } from \"./a.js\";\n"), ("a.js", "import { main } from \"./main.js\";\n")];
        assert!(error(&circle).contains("break the circle"));
        let twice = [
            ("main.js", "import { a } from \"./a.js\";\nconst x = 1;\n"),
            ("a.js", "export const a = 1;\nconst x = 2;\n"),
        ];
        assert!(error(&twice).contains("two modules declare x"));
    }
}
