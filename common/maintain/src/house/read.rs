//! Reads the files of a crate and which of the others each one names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use common::basics::workspace;
use course::files::below;
use syn::visit::{self, Visit};

use super::graph::Room;

/// A module's path within the crate: `["exec", "warp"]`; empty for the root.
type ModulePath = Vec<String>;

/// One file, parsed.
struct File {
    room: Room,
    path: ModulePath,
    paths: Vec<Vec<String>>,
    /// What names of this file stand for, if they come from elsewhere: `use` declarations outside of tests.
    imports: BTreeMap<String, Vec<String>>,
    /// Modules of its own that are there in tests only.
    tests: Vec<ModulePath>,
}

/// All files below a crate's `src` but those of tests, with what they use.
pub fn rooms(crate_folder: &Path) -> Result<Vec<Room>> {
    let mut files = Vec::new();
    for path in below(&crate_folder.join("src"), "rs") {
        files.push(read(crate_folder, &path)?);
    }
    let tests: Vec<ModulePath> = files.iter().flat_map(|file| file.tests.clone()).collect();
    files.retain(|file| !tests.iter().any(|test| file.path.starts_with(test)));
    let by_path: BTreeMap<&[String], usize> =
        files.iter().enumerate().map(|(number, file)| (file.path.as_slice(), number)).collect();
    let used: Vec<BTreeSet<usize>> = files
        .iter()
        .enumerate()
        .map(|(number, file)| {
            let found = file.paths.iter().filter_map(|path| resolve(&files, &by_path, number, path, 0));
            found.filter(|&used| used != number).collect()
        })
        .collect();
    Ok(files.into_iter().zip(used).map(|(file, uses)| Room { uses, ..file.room }).collect())
}

fn read(crate_folder: &Path, path: &Path) -> Result<File> {
    let display = workspace::display(path);
    let text =
        std::fs::read_to_string(path).with_context(|| format!("{display} cannot be read; restore it with git"))?;
    let syntax = syn::parse_file(&text).with_context(|| format!("{display} is not Rust; let cargo check it"))?;
    let within = path.strip_prefix(crate_folder).unwrap_or(path);
    let parts: Vec<String> = within.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let mut module: ModulePath = parts[1..].to_vec();
    let stem = module.pop().unwrap_or_default().trim_end_matches(".rs").to_owned();
    if !["lib", "main", "mod"].contains(&stem.as_str()) {
        module.push(stem);
    } else if parts.len() == 2 && stem == "main" && crate_folder.join("src/lib.rs").is_file() {
        // A program beside a library is a crate of its own.
        module.push("main.rs".into());
    }
    let documentation = text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
    let first: Vec<&str> = documentation.take_while(|line| !line.is_empty()).collect();
    let first = first.join(" ");
    let idea = first.split_once(". ").map_or(first.as_str(), |(sentence, _)| sentence).trim_end_matches('.');
    let mut names = Names { here: module.clone(), ..Names::default() };
    names.library = crate_folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    names.visit_file(&syntax);
    let room = Room { name: parts.join("/"), idea: idea.to_owned(), uses: BTreeSet::new() };
    Ok(File { room, path: module, paths: names.paths, imports: names.imports, tests: names.tests })
}

/// The file in which a path ends: modules are followed as far as they go, and a name that its file only passes on is
/// followed to where it comes from.
fn resolve(
    files: &[File],
    by_path: &BTreeMap<&[String], usize>,
    from: usize,
    path: &[String],
    depth: usize,
) -> Option<usize> {
    let (first, rest) = path.split_first()?;
    let absolute: Vec<String> = if first == "crate" {
        rest.to_vec()
    } else {
        // A child module of this file, or a name of another crate, which is nobody's room here.
        let mut child = files[from].path.clone();
        child.push(first.clone());
        by_path.get(child.as_slice())?;
        child.extend_from_slice(rest);
        child
    };
    let length = (0..=absolute.len()).rev().find(|&length| by_path.contains_key(&absolute[..length]))?;
    let file = by_path[&absolute[..length]];
    match absolute.get(length).and_then(|name| files[file].imports.get(name)) {
        Some(import) if depth < 16 && file != from => resolve(files, by_path, file, import, depth + 1).or(Some(file)),
        _ => Some(file),
    }
}

/// Collects the paths of a file, outside of its tests, from the crate's root on.
#[derive(Default)]
struct Names {
    here: ModulePath,
    /// The name of the crate, by which a program beside a library calls it.
    library: String,
    paths: Vec<Vec<String>>,
    imports: BTreeMap<String, Vec<String>>,
    /// How many modules in braces are around.
    braces: usize,
    tests: Vec<ModulePath>,
}

impl Names {
    /// `self`, `super`, `crate` and the library's name in place of where they lead.
    fn rooted(&self, path: &[String]) -> Vec<String> {
        let mut base = self.here.clone();
        let mut rest = path;
        let mut relative = false;
        if let Some((first, more)) = path.split_first()
            && *first == self.library
            && self.here == ["main.rs"]
        {
            return [&["crate".to_owned()], more].concat();
        }
        while let Some((first, more)) = rest.split_first() {
            match first.as_str() {
                "crate" => base.clear(),
                "self" => {}
                "super" => {
                    base.pop();
                }
                _ => break,
            }
            relative = true;
            rest = more;
        }
        if relative { [&["crate".to_owned()], base.as_slice(), rest].concat() } else { path.to_vec() }
    }

    fn tree(&mut self, tree: &syn::UseTree, before: &[String]) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            syn::UseTree::Path(path) => self.tree(&path.tree, &with(&path.ident)),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.tree(tree, before)),
            syn::UseTree::Glob(_) => self.paths.push(self.rooted(before)),
            syn::UseTree::Name(name) if name.ident == "self" => self.import(before.last(), before),
            syn::UseTree::Name(name) => self.import(Some(&name.ident.to_string()), &with(&name.ident)),
            syn::UseTree::Rename(rename) => self.import(Some(&rename.rename.to_string()), &with(&rename.ident)),
        }
    }

    fn import(&mut self, name: Option<&String>, path: &[String]) {
        let path = self.rooted(path);
        self.imports.extend(name.map(|name| (name.clone(), path.clone())));
        self.paths.push(path);
    }
}

/// Whether the item is there in tests only.
fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Ident>().is_ok_and(|condition| condition == "test")
    })
}

impl<'ast> Visit<'ast> for Names {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if is_test(&module.attrs) {
            self.tests.push([self.here.as_slice(), &[module.ident.to_string()]].concat());
        } else {
            // Within braces, `super` is this file.
            self.here.push(module.ident.to_string());
            self.braces += 1;
            visit::visit_item_mod(self, module);
            self.braces -= 1;
            self.here.pop();
        }
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        if !is_test(&function.attrs) {
            visit::visit_item_fn(self, function);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !is_test(&item.attrs) {
            // What a module in braces imports has no name in the file.
            let names = (self.braces > 0).then(|| self.imports.clone());
            self.tree(&item.tree, &[]);
            if let Some(names) = names {
                self.imports = names;
            }
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        // One name alone is of this file, or imported, which was seen there.
        if names.len() > 1 {
            self.paths.push(self.rooted(&names));
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        // Arguments of a macro are tokens; as expressions with commas between them they are read as well.
        let parser = syn::punctuated::Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated;
        if let Ok(arguments) = call.parse_body_with(parser) {
            arguments.iter().for_each(|argument| self.visit_expr(argument));
        }
        visit::visit_macro(self, call);
    }
}
