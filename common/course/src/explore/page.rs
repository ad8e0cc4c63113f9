//! A page of the explorer as one file: the page's own files joined, with the data and the engine inside, packed.

use std::io::{Read as _, Write as _};

use anyhow::Result;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

use super::data::Data;
use super::join;

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
    join::page(&format!("{data}\n{}", script("explorer-wasm", engine)?))
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
}
