//! A page of the explorer as one file: the page's own files joined, with the data and the engine inside, packed.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use common::basics::workspace;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

use super::data::Data;
use crate::files::{below, read};

/// Bytes, compressed.
pub fn compressed(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(vec![], Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

/// What was compressed.
pub fn expanded(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut expanded = vec![];
    DeflateDecoder::new(bytes).read_to_end(&mut expanded)?;
    Ok(expanded)
}

/// The page with this data and this engine.
pub fn whole(data: &Data, engine: &[u8]) -> Result<String> {
    let script = |id: &str, bytes: &[u8]| -> Result<String> {
        let packed = BASE64_STANDARD.encode(compressed(bytes)?);
        Ok(format!("<script type=\"text/plain\" id=\"{id}\">{packed}</script>"))
    };
    let data = script("explorer-data", serde_json::to_string(data)?.as_bytes())?;
    joined(&format!("{data}\n{}", script("explorer-wasm", engine)?))
}

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
fn joined(scripts: &str) -> Result<String> {
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
    fn a_page_carries_its_data_and_its_engine_and_asks_for_no_other_file() {
        let data = Data { version: 1, own: Some("first </script>".into()), ..Data::default() };
        let page = whole(&data, b"engine").unwrap();
        let part = |id: &str| {
            let (_, rest) = page.split_once(&format!("id=\"{id}\">")).unwrap();
            expanded(&BASE64_STANDARD.decode(rest.split('<').next().unwrap()).unwrap()).unwrap()
        };
        assert_eq!(part("explorer-wasm"), b"engine");
        assert_eq!(serde_json::from_slice::<Data>(&part("explorer-data")).unwrap().own, data.own);
        assert!(!page.contains(" src=\"") && !page.contains(" href=\"style"), "{page}");
        assert!(expanded(b"no data").is_err());
    }

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
