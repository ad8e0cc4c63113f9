//! Makes code of the tables: constants and texts of the codes, stubs for the functions that are missing, and the list of all
//! functions, from which `cuGetProcAddress` answers.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

fn main() {
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let lines = |name: &str| {
        println!("cargo::rerun-if-changed=src/{name}");
        let text = fs::read_to_string(Path::new("src").join(name)).expect("the table is beside the sources");
        text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    let write = |name: &str, text: String| fs::write(Path::new(&out).join(name), text).expect("OUT_DIR is writable");

    let (mut constants, mut texts) = (String::new(), String::new());
    for line in lines("errors.txt") {
        let mut parts = line.splitn(3, ' ');
        let mut part = || parts.next().expect("number, name and description");
        let (number, name, description) = (part(), part(), part());
        let full = if number == "0" { "CUDA_SUCCESS".into() } else { format!("CUDA_ERROR_{name}") };
        writeln!(constants, "/// {description}.\n#[allow(unused)]\npub const {name}: Code = Code({number});").unwrap();
        writeln!(texts, "    ({number}, \"{full}\\0\", \"{description}\\0\"),").unwrap();
    }
    write("errors.rs", format!("{constants}\nconst TEXTS: &[(u32, &str, &str)] = &[\n{texts}];\n"));

    let (mut stubs, mut table, mut declared) = (String::new(), String::new(), String::new());
    for line in lines("functions.txt") {
        let mut words = line.split_whitespace();
        let (name, status) = (words.next().expect("a name"), words.next().expect("a status"));
        let since = words.next().and_then(|word| word.parse::<u32>().ok()).unwrap_or(0);
        if status == "no" {
            writeln!(stubs, "stub!({name});").unwrap();
        }
        writeln!(declared, "    fn {name}();").unwrap();
        writeln!(table, "    (\"{name}\", {since}, {name} as *const ()),").unwrap();
    }
    write("stubs.rs", stubs);
    let functions = format!("vec![\n{table}]");
    write("declared.rs", format!("unsafe extern \"C\" {{\n{declared}}}"));
    write("functions.rs", functions);

    if env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
    }
}
