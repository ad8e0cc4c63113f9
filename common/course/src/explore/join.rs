//! The page's files as one file: its modules joined, its style and its data inside.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use common::basics::workspace;

use crate::files::{below, read};

/// The script that runs beside the page, and is kept as a text: the page starts it from there.
const WORKER: &str = "worker.js";

/// Adds a module to those that are joined, behind the ones that it imports. Imports and exports are taken out: all names are the page's.
fn join(folder: &Path, name: &str, joined: &mut BTreeSet<String>, text: &mut String) -> Result<()> {
    if !joined.insert(name.to_owned()) {
        return Ok(());
    }
    let source = read(&folder.join(name))?;
    let mut own = format!("// {name}\n");
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("import ") {
            let mut statement = line.to_owned();
            while !statement.contains(';') {
                statement +=
                    lines.next().with_context(|| format!("{name}: an import has no end; end it with a semicolon"))?;
            }
            let import = statement.split(['"', '\'']).nth(1).and_then(|file| file.strip_prefix("./"));
            let import =
                import.with_context(|| format!("{name}: {statement} names no file; import from \"./NAME.js\""))?;
            join(folder, import, joined, text)?;
        } else {
            own += line.strip_prefix("export ").unwrap_or(line);
            own.push('\n');
        }
    }
    *text += &own;
    Ok(())
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
    let (mut joined, mut main) = (BTreeSet::from([WORKER.to_owned()]), String::new());
    join(folder, "main.js", &mut joined, &mut main)?;
    let is_left =
        |file: &&std::path::PathBuf| !file.file_name().is_some_and(|name| joined.contains(&*name.to_string_lossy()));
    let left = below(folder, "js").iter().find(is_left).map(|file| workspace::display(file));
    ensure!(left.is_none(), "{} is imported by no module; remove it", left.unwrap_or_default());
    let mut replace = |what: &str, by: &str| -> Result<()> {
        ensure!(html.matches(what).count() == 1, "page/index.html has not exactly one {what}");
        html = html.replace(what, by);
        Ok(())
    };
    let style = read(&folder.join("style.css"))?;
    replace("<link rel=\"stylesheet\" href=\"style.css\">", &format!("<style>\n{style}</style>"))?;
    let worker = format!(
        "<script type=\"text/plain\" id=\"explorer-worker\">\n{}</script>",
        inside_script(&read(&folder.join(WORKER))?)
    );
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

    #[test]
    fn modules_follow_what_they_import() {
        let folder = tempfile::tempdir().unwrap();
        let files = [
            ("main.js", "import {\n  b,\n} from \"./b.js\";\nimport { a } from './a.js';\n\na(b);\n"),
            ("b.js", "import { a } from \"./a.js\";\nexport const b = a();\n"),
            ("a.js", "export function a() {\n  return 1;\n}\n"),
            ("c.js", "import \"elsewhere\";\n"),
        ];
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let joined = |name: &str| {
            let mut text = String::new();
            join(folder.path(), name, &mut BTreeSet::new(), &mut text).map(|()| text)
        };
        let text = "// a.js\nfunction a() {\n  return 1;\n}\n// b.js\nconst b = a();\n// main.js\n\na(b);\n";
        assert_eq!(joined("main.js").unwrap(), text);
        assert!(joined("c.js").unwrap_err().to_string().contains("names no file"));
    }
}
