//! A page of the explorer as one file: the page's own files joined, with the data and the engine inside, packed.

use std::io::{Read as _, Write as _};
use std::path::Path;

use anyhow::{Result, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use common::basics::workspace;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

use super::data::Data;
use crate::files::{below, read};

pub fn compressed(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(vec![], Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

pub fn expanded(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut expanded = vec![];
    DeflateDecoder::new(bytes).read_to_end(&mut expanded)?;
    Ok(expanded)
}

/// What a page runs kernels with.
pub struct Engine {
    /// The module, as WebAssembly.
    pub module: Vec<u8>,
    /// Whether its sources are older than those of the page.
    pub is_older: bool,
}

/// What a page says of an engine that is older than the page.
const OLDER: &str = "<p class=\"message\">The engine of this page is that of the last release, and older than the page: what has changed since \
                     is missing. <code>rustup target add wasm32-unknown-unknown</code> lets this machine build today's.</p>";

/// The page with this data and this engine.
pub fn whole(data: &Data, engine: &Engine) -> Result<String> {
    let script = |id: &str, bytes: &[u8]| -> Result<String> {
        let packed = BASE64_STANDARD.encode(compressed(bytes)?);
        Ok(format!("<script type=\"text/plain\" id=\"{id}\">{packed}</script>"))
    };
    let data = script("explorer-data", serde_json::to_string(data)?.as_bytes())?;
    let data = format!("{data}\n{}", script("explorer-wasm", &engine.module)?);
    let folder = &workspace::root().join("common/explorer/page");
    let mut html = read(&folder.join("index.html"))?;
    let mut replace = |what: &str, by: &str| -> Result<()> {
        ensure!(html.matches(what).count() == 1, "page/index.html has not exactly one {what}");
        html = html.replace(what, by);
        Ok(())
    };
    let style = read(&folder.join("style.css"))?;
    let inside_script = |text: String| text.replace("</script", "<\\/script");
    replace("<link rel=\"stylesheet\" href=\"style.css\">", &format!("<style>\n{style}</style>"))?;
    let worker = inside_script(read(&folder.join(WORKER))?);
    let worker = format!("<script type=\"text/plain\" id=\"explorer-worker\">\n{worker}</script>");
    let page = format!("{worker}\n<script type=\"module\">\n{}</script>", inside_script(modules(folder)?));
    replace("<script type=\"module\" src=\"main.js\"></script>", &page)?;
    replace("<!-- older -->\n", if engine.is_older { OLDER } else { "" })?;
    replace("<!-- data -->", &data)?;
    Ok(html)
}

/// The worker's script. It is embedded as text, and the page starts it from there.
const WORKER: &str = "worker.js";

/// The page's modules as one text, the one that starts the page last. Imports and exports are taken out: all names are the page's, and
/// no module computes anything from another one before the page starts.
fn modules(folder: &Path) -> Result<String> {
    let mut files = below(folder, "js");
    files.retain(|file| !file.ends_with(WORKER));
    files.sort_by_key(|file| file.ends_with("main.js"));
    let mut text = String::new();
    for file in files {
        let mut is_import = false;
        for line in read(&file)?.lines() {
            is_import |= line.starts_with("import ");
            if !is_import {
                text += line.strip_prefix("export ").unwrap_or(line);
                text.push('\n');
            }
            is_import &= !line.contains(';');
        }
    }
    Ok(text)
}

/// Whether a text is a page of the explorer: up to its style it begins as the pages do that are written now.
pub fn is_page(text: &str) -> bool {
    let html = read(&workspace::root().join("common/explorer/page/index.html"));
    html.is_ok_and(|html| text.starts_with(html.split("<link").next().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_carries_its_data_and_its_engine_and_asks_for_no_other_file() {
        let data = Data { own: Some("first </script>".into()), ..Data::default() };
        let mut engine = Engine { module: b"engine".to_vec(), is_older: true };
        assert!(whole(&data, &engine).unwrap().contains("older than the page"));
        engine.is_older = false;
        let page = whole(&data, &engine).unwrap();
        let part = |id: &str| {
            let (_, rest) = page.split_once(&format!("id=\"{id}\">")).unwrap();
            expanded(&BASE64_STANDARD.decode(rest.split('<').next().unwrap()).unwrap()).unwrap()
        };
        assert_eq!(part("explorer-wasm"), b"engine");
        assert_eq!(serde_json::from_slice::<Data>(&part("explorer-data")).unwrap().own, data.own);
        assert!(!page.contains(" src=\"") && !page.contains(" href=\"style"), "{page}");
        assert!(expanded(b"no data").is_err() && !page.contains("older than the page"));
    }

    #[test]
    fn modules_are_joined_without_imports_and_exports() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("b.js", "import {\n  a,\n} from \"./a.js\";\nexport const b = () => a();\n"),
            ("main.js", "import { b } from './b.js';\nb();\n"),
            ("worker.js", "apart();\n"),
            ("z.js", "export function z() {\n  return 1;\n}\n"),
        ] {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        assert_eq!(modules(folder.path()).unwrap(), "const b = () => a();\nfunction z() {\n  return 1;\n}\nb();\n");
    }
}
