//! Findings in a file, in the format that its name asks for.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::{Result, anyhow, bail};
use serde_json::{Value, json};
use system::{escaped, io_reason};

use crate::finding::{Finding, Site};

/// A format of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Json,
    Sarif,
    JUnit,
    /// Commands that a workflow shows beside the lines, on standard output.
    Annotations,
}

/// The name that asks for annotations.
const ANNOTATIONS: &str = "annotations";

fn format(file: &Path) -> Result<Format> {
    Ok(match file.extension().and_then(OsStr::to_str) {
        _ if file == Path::new(ANNOTATIONS) => Format::Annotations,
        Some("json") => Format::Json,
        Some("sarif") => Format::Sarif,
        Some("xml") => Format::JUnit,
        _ => bail!(
            "--report {} has no known ending; take .json, .sarif, .xml (JUnit), or the word {ANNOTATIONS} for a workflow",
            escaped(file)
        ),
    })
}

/// Fails if no report can be written for this name.
pub fn check(file: &Path) -> Result<()> {
    format(file).map(drop)
}

/// Writes the findings of what was run.
pub fn write(file: &Path, of: &str, findings: &[Finding]) -> Result<()> {
    let text = match format(file)? {
        Format::Json => pretty(&json!({ "format": 1, "of": of, "findings": findings })),
        Format::Sarif => pretty(&sarif(findings)),
        Format::JUnit => junit(of, findings),
        Format::Annotations => return system::print_whole(&annotations(findings)),
    };
    std::fs::write(file, text)
        .map_err(|error| anyhow!("--report {} cannot be written ({})", escaped(file), io_reason(&error)))
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

fn sarif(findings: &[Finding]) -> Value {
    let mut kinds: Vec<&str> = findings.iter().map(|finding| finding.kind.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let rules: Vec<Value> = kinds.iter().map(|kind| json!({ "id": kind })).collect();
    let location = |site: &Site| {
        let uri = site.file.as_ref()?.replace('\\', "/");
        Some(json!({
            "physicalLocation": { "artifactLocation": { "uri": uri }, "region": { "startLine": site.line.max(1) } },
            "message": { "text": site.label },
        }))
    };
    let result = |finding: &Finding| {
        let mut places = finding.places.iter().filter_map(location);
        let first: Vec<Value> = places.next().into_iter().collect();
        json!({
            "ruleId": finding.kind,
            "level": if finding.warning { "warning" } else { "error" },
            "message": { "text": sentence(finding) },
            "locations": first,
            "relatedLocations": places.collect::<Vec<_>>(),
        })
    };
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "cargo simt", "version": env!("CARGO_PKG_VERSION"), "rules": rules } },
            "results": findings.iter().map(result).collect::<Vec<_>>(),
        }],
    })
}

fn sentence(finding: &Finding) -> String {
    if finding.help.is_empty() { finding.title.clone() } else { format!("{}; {}", finding.title, finding.help) }
}

fn junit(of: &str, findings: &[Finding]) -> String {
    let failures = findings.iter().filter(|finding| !finding.warning).count();
    let of = escaped_xml(of);
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"cargo simt\" tests=\"{}\" failures=\"{failures}\">\n",
        findings.len().max(1)
    );
    if findings.is_empty() {
        text += &format!("    <testcase classname=\"{of}\" name=\"nothing found\"/>\n");
    }
    for finding in findings {
        let place = finding.places.iter().find_map(|site| Some(format!(" in {}:{}", site.file.as_ref()?, site.line)));
        let name = escaped_xml(&format!("{}{}", finding.kind, place.unwrap_or_default()));
        let element = if finding.warning { "system-out" } else { "failure" };
        let message =
            if finding.warning { String::new() } else { format!(" message=\"{}\"", escaped_xml(&finding.title)) };
        let body = escaped_xml(&finding.text);
        text += &format!(
            "    <testcase classname=\"{of}\" name=\"{name}\">\n      <{element}{message}>{body}</{element}>\n    </testcase>\n"
        );
    }
    text + "  </testsuite>\n</testsuites>\n"
}

/// A text within XML; control characters, which XML has no way to write, become question marks.
fn escaped_xml(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            c if c.is_control() && !matches!(c, '\n' | '\t') || matches!(c, '\u{fffe}' | '\u{ffff}') => {
                escaped.push('?');
            }
            c => escaped.push(c),
        }
    }
    escaped
}

fn annotations(findings: &[Finding]) -> String {
    let value = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let property = |text: &str| value(text).replace(':', "%3A").replace(',', "%2C");
    let line = |finding: &Finding| {
        let level = if finding.warning { "warning" } else { "error" };
        let site = finding.places.iter().find_map(|site| Some((site.file.as_ref()?, site.line)));
        let place = site.map(|(file, line)| format!("file={},line={line},", property(file))).unwrap_or_default();
        format!("::{level} {place}title={}::{}\n", property(&finding.kind), value(&sentence(finding)))
    };
    findings.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_all_kinds_stay_within_their_format() {
        assert_eq!(escaped_xml("a<b> & \"c\"\u{1b}[0m\n"), "a&lt;b&gt; &amp; &quot;c&quot;?[0m\n");
        let (kind, title, help) = ("note, one".into(), "100 %".into(), "two\nlines".into());
        let places = vec![Site { file: Some("k, 1:2.cu".into()), line: 3, ..Site::default() }];
        let finding = Finding { kind, title, help, places, warning: true, ..Finding::default() };
        let line = "::warning file=k%2C 1%3A2.cu,line=3,title=note%2C one::100 %25; two%0Alines\n";
        assert_eq!(annotations(&[finding]), line);
    }
}
