//! The files of a crate that use each other, by the names in their code.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use common::basics::workspace;
use course::files::{below, read};
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::{Attribute, Item, UseTree};

/// The path of a file's module from the crate's root, without `lib`, `main` and `mod`.
pub type Module = Vec<String>;

/// The paths that a file names, and the names that `use` gives to some of them.
#[derive(Default)]
pub struct Names {
    pub paths: Vec<Vec<String>>,
    imports: BTreeMap<String, Vec<String>>,
}

impl Names {
    /// Reads the names in code, without those that only tests use.
    pub fn of(text: &str) -> syn::Result<Self> {
        let mut names = Self::default();
        names.items(&syn::parse_file(text)?.items, 0);
        Ok(names)
    }

    /// The names in items that are `depth` modules within the file.
    fn items(&mut self, items: &[Item], depth: usize) {
        for item in items {
            match item {
                Item::Use(item) if item.leading_colon.is_none() && !for_tests(&item.attrs) => {
                    self.tree(&item.tree, &[], depth);
                }
                Item::Mod(item) if !for_tests(&item.attrs) => {
                    self.items(item.content.as_ref().map_or(&[][..], |(_, items)| items), depth + 1);
                }
                Item::Fn(item) if for_tests(&item.attrs) => {}
                Item::Use(_) | Item::Mod(_) => {}
                item => self.tokens(item.to_token_stream(), depth),
            }
        }
    }

    /// The paths of `a::b::{c, d as e}`.
    fn tree(&mut self, tree: &UseTree, before: &[String], depth: usize) {
        let with = |name: &dyn ToString| [before, &[name.to_string()]].concat();
        let (path, name) = match tree {
            UseTree::Path(path) => return self.tree(&path.tree, &with(&path.ident), depth),
            UseTree::Group(group) => return group.items.iter().for_each(|tree| self.tree(tree, before, depth)),
            UseTree::Glob(_) => (before.to_vec(), None),
            UseTree::Name(name) if name.ident == "self" => (before.to_vec(), before.last().cloned()),
            UseTree::Name(name) => (with(&name.ident), Some(name.ident.to_string())),
            UseTree::Rename(name) => (with(&name.ident), Some(name.rename.to_string())),
        };
        // What a module within the file imports is not for others.
        self.imports.extend(name.filter(|_| depth == 0).map(|name| (name, path.clone())));
        self.path(&path, depth);
    }

    /// A path; in a module within the file, the first `super` is the file.
    fn path(&mut self, path: &[String], depth: usize) {
        let up = path.iter().take(depth).take_while(|part| *part == "super").count();
        self.paths.push(path[up..].to_vec());
    }

    /// The paths in any code, in macros as well.
    fn tokens(&mut self, tokens: TokenStream, depth: usize) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let is = |at: usize, sign| matches!(tokens.get(at), Some(TokenTree::Punct(found)) if found.as_char() == sign);
        let joins = |at: usize| is(at, ':') && is(at + 1, ':');
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at += 1;
            match token {
                TokenTree::Group(group) => self.tokens(group.stream(), depth),
                TokenTree::Ident(word) if word == "use" => {
                    let end = (at..tokens.len()).find(|&end| is(end, ';')).unwrap_or(tokens.len());
                    let tree = syn::parse2(tokens[at..end].iter().cloned().collect());
                    if let Ok(tree) = tree {
                        // What a function imports is not for others.
                        self.tree(&tree, &[], depth.max(1));
                        at = end;
                    }
                }
                TokenTree::Ident(word) => {
                    // A path that begins with `::` is another crate's, or goes on from a type.
                    let begins = at < 3 || !joins(at - 3);
                    let mut path = vec![word.to_string()];
                    while let Some(TokenTree::Ident(next)) = tokens.get(at + 2).filter(|_| joins(at)) {
                        path.push(next.to_string());
                        at += 3;
                    }
                    if begins && path.len() > 1 {
                        self.path(&path, depth);
                    }
                }
                _ => {}
            }
        }
    }
}

fn for_tests(attributes: &[Attribute]) -> bool {
    let is_test = |attribute: &Attribute| attribute.parse_args::<syn::Ident>().is_ok_and(|word| word == "test");
    attributes.iter().any(|attribute| attribute.path().is_ident("cfg") && is_test(attribute))
}

/// The files of a crate by their modules, without those that are compiled for tests only.
pub fn files(src: &Path) -> BTreeMap<Module, Names> {
    let beside_a_library = src.join("lib.rs").is_file();
    let mut files = BTreeMap::new();
    for path in below(src, "rs") {
        let parts = path.strip_prefix(src).unwrap().with_extension("");
        let mut module: Module = parts.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        let (text, name) = (read(&path).unwrap(), workspace::display(&path));
        let is_told = text.starts_with("//! ") || text.starts_with("#![doc = include_str!");
        assert!(is_told, "{name} does not begin with //! and its idea");
        if module.iter().any(|name| name == "tests") || module == ["main"] && beside_a_library {
            continue; // a program beside a library is a crate of its own
        }
        module.pop_if(|name| ["lib", "main", "mod"].contains(&name.as_str()));
        files.insert(module, Names::of(&text).unwrap_or_else(|error| panic!("{name}: {error}")));
    }
    files
}

/// The file to which a path leads: the longest prefix that is a module. Names that this file only re-exports are followed.
pub fn resolve(files: &BTreeMap<Module, Names>, from: &Module, path: &[String], depth: usize) -> Option<Module> {
    let (mut whole, mut rest) = (from.clone(), path);
    while let Some((first, more)) =
        rest.split_first().filter(|(first, _)| ["crate", "self", "super"].contains(&first.as_str()))
    {
        match first.as_str() {
            "crate" => whole.clear(),
            "super" => drop(whole.pop()),
            _ => {}
        }
        rest = more;
    }
    if rest.len() == path.len() && !files.contains_key(&[&whole[..], &path[..1.min(path.len())]].concat()) {
        return None; // another crate's, or of this file
    }
    whole.extend_from_slice(rest);
    let length = (0..=whole.len()).rev().find(|&length| files.contains_key(&whole[..length]))?;
    let file = whole[..length].to_vec();
    let import = whole.get(length).and_then(|name| files[&file].imports.get(name));
    match import.filter(|_| depth < 16 && file != *from) {
        Some(import) => resolve(files, &file, import, depth + 1),
        None => Some(file),
    }
}

/// The files on circles of files that use each other, and the files between two circles.
pub fn circles(files: &BTreeMap<Module, Names>) -> Vec<String> {
    let used = |file: &Module| -> BTreeSet<Module> {
        let found = files[file].paths.iter().filter_map(|path| resolve(files, file, path, 0));
        found.filter(|other| other != file).collect()
    };
    let mut uses: BTreeMap<Module, BTreeSet<Module>> = files.keys().map(|file| (file.clone(), used(file))).collect();
    // A file that uses none of the others is not on a circle, and neither is a file that none of them uses.
    let is_at_an_end = |uses: &BTreeMap<Module, BTreeSet<Module>>, file: &Module| {
        uses[file].iter().all(|other| !uses.contains_key(other)) || uses.values().all(|used| !used.contains(file))
    };
    while let Some(end) = uses.keys().find(|file| is_at_an_end(&uses, file)).cloned() {
        uses.remove(&end);
    }
    uses.into_keys().map(|module| module.join("::")).collect()
}

#[test]
fn a_circle_is_found_however_the_names_are_written() {
    let files = |files: &[(&str, &str)]| -> BTreeMap<Module, Names> {
        let module = |name: &str| name.split_terminator('/').map(str::to_owned).collect();
        files.iter().map(|&(name, text)| (module(name), Names::of(text).unwrap())).collect()
    };
    for (a, b) in [
        ("use crate::b::B;", "use crate::a::A;"),
        ("use super::b::{B, C};", "fn f() -> crate::a::A { todo() }"),
        ("fn f() { crate::b::f::<u8>() }", "use crate::{b::X, a::A};"),
        // Through names that the crate's root re-exports.
        ("use crate::B;", "use crate::One;"),
        // In a macro, in an attribute, in a string's neighbourhood, within a function, and under another name.
        ("fn f() { println!(\"{} use\", super::b::X) }", "fn f() { let s = \"; use \"; { use crate::a::A as Y; } }"),
        ("#[derive(super::b::Derive)] struct S;", "mod own { fn f(x: super::super::a::A) {} }"),
    ] {
        let found = circles(&files(&[("", "pub use a::A as One;\npub use b::B;"), ("a", a), ("b", b)]));
        assert_eq!(found, ["a", "b"], "{a} {b}");
    }
    // A parent that re-exports what its children define makes no circle; a child that uses what its parent defines does.
    let parent =
        ("a", "pub use one::One;\nuse two::Two;\nuse std::fmt::{self, Debug};\nmod own {\n    use super::One;\n}");
    let tests = "pub struct One;\n#[cfg(test)]\nmod tests { use crate::a::two::Two; }";
    let found =
        circles(&files(&[("", "pub use a::two::Two;"), parent, ("a/one", tests), ("a/two", "use super::One;")]));
    assert_eq!(found, [""; 0]);
    let found = circles(&files(&[("", "pub struct Here;\nuse a::A;"), ("a", "use crate::Here;\npub struct A;")]));
    assert_eq!(found, ["", "a"]);
    // What is not code names nothing, and neither does a path of another crate.
    let plain = "/// crate::b::B\nfn f() { let text = \"crate::b::B\"; // super::b::B\n ::b::c::d(); }";
    assert_eq!(circles(&files(&[("a", plain), ("b", "use crate::a::A;")])), [""; 0]);
}
