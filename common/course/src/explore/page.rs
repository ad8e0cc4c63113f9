//! A page of the explorer as one file: the data and the engine stand in it, packed.

use std::io::{Read as _, Write as _};

use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

use super::data::Data;

/// What stands before the packed data, and before the packed engine.
const DATA: &str = "<script type=\"text/plain\" id=\"explorer-data\">";
const ENGINE: &str = "<script type=\"text/plain\" id=\"explorer-wasm\">";
const END: &str = "</script>";

/// Bytes, compressed and as text.
fn packed(bytes: &[u8]) -> Result<String> {
    let mut encoder = DeflateEncoder::new(vec![], Compression::best());
    encoder.write_all(bytes)?;
    Ok(BASE64_STANDARD.encode(encoder.finish()?))
}

fn unpacked(text: &str) -> Result<Vec<u8>> {
    let mut bytes = vec![];
    DeflateDecoder::new(&BASE64_STANDARD.decode(text.trim())?[..]).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The text between a start and the end of its script.
fn part<'a>(page: &'a str, start: &str) -> Option<&'a str> {
    page.split_once(start)?.1.split_once(END).map(|(text, _)| text)
}

/// The scripts that stand in a page for its data and its engine.
pub fn scripts(data: &Data, engine: &[u8]) -> Result<String> {
    Ok(format!("{DATA}{}{END}\n{ENGINE}{}{END}", packed(serde_json::to_string(data)?.as_bytes())?, packed(engine)?))
}

/// The engine that a page carries.
pub fn engine(page: &str) -> Result<Vec<u8>> {
    let text = part(page, ENGINE).context("it carries no engine")?;
    unpacked(text).context("its engine cannot be unpacked")
}

/// The data that a page carries.
pub fn data(page: &str) -> Result<Data> {
    let text = part(page, DATA).context("it carries no data")?;
    Ok(serde_json::from_slice(&unpacked(text)?)?)
}

/// The page with other data.
pub fn with_data(page: &str, data: &Data) -> Result<String> {
    let (before, rest) = page.split_once(DATA).context("it carries no data")?;
    let (_, after) = rest.split_once(END).context("its data have no end")?;
    ensure!(page.contains(ENGINE), "it carries no engine");
    Ok(format!("{before}{DATA}{}{END}{after}", packed(serde_json::to_string(data)?.as_bytes())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_into_a_page_can_be_taken_out_and_replaced() {
        let first = Data { version: 1, own: Some("first </script>".into()), ..Data::default() };
        let page = format!("<html>{}</html>", scripts(&first, b"engine").unwrap());
        assert_eq!((engine(&page).unwrap(), data(&page).unwrap().own), (b"engine".to_vec(), first.own.clone()));
        let other = with_data(&page, &Data { own: Some("other".into()), ..Data::default() }).unwrap();
        assert_eq!((engine(&other).unwrap(), data(&other).unwrap().own), (b"engine".to_vec(), Some("other".into())));
        assert!(with_data("<html></html>", &first).is_err() && engine("x").is_err());
    }
}
