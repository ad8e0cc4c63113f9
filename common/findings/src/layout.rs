//! How shared memory is divided: the arrays that a kernel declares there, and the members of its structures.

use std::collections::BTreeSet;

use crate::declarations::shared_extents;
use simt::{Extents, Place, Space};

use crate::element::{element_of, is_name};

/// A member of a structure.
type Member = (String, Extents);

/// A shared array, or an array that is a member of a structure there.
#[derive(Clone, Debug, Default)]
pub struct Field {
    /// The shared variable.
    pub root: String,
    /// The number of the structure, if it is one of several.
    pub number: Option<u32>,
    /// `.a` of a member, or nothing.
    pub member: String,
    /// Where it begins in the block's shared memory, in bytes.
    pub offset: u32,
    /// Its size.
    pub bytes: u32,
    /// As it is declared; empty if that is not known.
    pub extents: Vec<u32>,
}

impl Field {
    /// The element that a byte of shared memory is in, as one writes it: `slot[0].a[3]`.
    pub fn element(&self, at: u32) -> Place {
        let count = product(&self.extents).unwrap_or(u32::MAX).max(1);
        let size = if self.extents.is_empty() { 4 } else { (self.bytes / count).clamp(2, 4) };
        let mut rest = u64::from(at.saturating_sub(self.offset) / size);
        let mut index = vec![];
        for &extent in self.extents.iter().skip(1).rev() {
            index.insert(0, rest % u64::from(extent.max(1)));
            rest /= u64::from(extent.max(1));
        }
        index.insert(0, rest);
        let number = self.number.map_or_else(String::new, |number| format!("[{number}]"));
        element_of(&format!("{}{number}{}", self.root, self.member), Space::Shared, index)
    }
}

/// The number of elements; `None` if it is more than shared memory can hold, as in a declaration that is not compiled.
fn product(extents: &[u32]) -> Option<u32> {
    extents.iter().try_fold(1_u32, |product, &extent| product.checked_mul(extent))
}

/// A place in a structure by its member; other places stay as they are.
pub fn by_member(fields: &[Field], place: &mut Place) {
    let Place::Offset { array, bytes } = place else { return };
    let of_it = |field: &&Field| array.space == Space::Shared && field.root == array.name && !field.member.is_empty();
    let Some(first) = fields.iter().find(of_it) else { return };
    let at = first.offset + *bytes as u32;
    if let Some(field) = fields.iter().filter(of_it).rfind(|field| field.offset <= at) {
        *place = field.element(at);
    }
}

/// Structures that are looked at: a kernel has few, and each look reads the whole source.
const MOST: usize = 64;

/// The structures of a source, each with its name, or with that of the variable that it is declared with; a template with each
/// list of numbers that any use of a template has.
fn structures(source: &str, constants: &[(&str, i64)]) -> Vec<(String, Vec<Member>)> {
    let plain = source.replace("__shared__", "");
    let number = |text: &str| {
        let known = constants.iter().find(|(name, _)| *name == text).map(|(_, number)| *number);
        text.parse().ok().or(known)
    };
    let list = |text: &str| text.split(',').map(|part| number(part.trim())).collect::<Option<Vec<i64>>>();
    let lists = source.split('<').filter_map(|rest| list(rest.split_once('>')?.0));
    let lists: BTreeSet<Vec<i64>> = lists.take(MOST).collect();
    let mut found = vec![];
    for (at, word) in source.match_indices("struct ").take(MOST) {
        let Some((head, rest)) = source[at + word.len()..].split_once('{') else { continue };
        let Some((body, behind)) = rest.split_once('}') else { continue };
        if head.contains([';', '&', '*', ',', '=']) {
            continue;
        }
        let declared = behind.split([';', '[']).next().unwrap_or_default();
        let names = [head, declared].map(|part| part.rsplit(|c| !is_name(c)).find(|name| !name.is_empty()));
        let template = source[..at].trim_end().strip_suffix('>').and_then(|before| before.rsplit_once('<'));
        let parameters = template.iter().flat_map(|(_, list)| list.split(','));
        let parameters: Vec<&str> = parameters.filter_map(|one| one.split(' ').next_back()).collect();
        // The members are read like shared arrays; one that is no array has no known size, and then the sizes will not agree.
        let text = format!("{plain}\n__shared__ {};", body.split(';').collect::<Vec<_>>().join("; __shared__ "));
        let none = BTreeSet::from([vec![]]);
        let values = if parameters.is_empty() { &none } else { &lists };
        for list in values.iter().filter(|list| list.len() == parameters.len()) {
            let given = parameters.iter().copied().zip(list.iter().copied());
            let members = shared_extents(&text, &constants.iter().copied().chain(given).collect::<Vec<_>>());
            found.extend(names.into_iter().flatten().map(|name| (name.to_owned(), members.clone())));
        }
    }
    found
}

/// The fields of the shared arrays of a kernel.
pub fn fields(kernel: &simt::Kernel, source: &str, constants: &[(&str, i64)], extents: &[Member]) -> Vec<Field> {
    let structures = structures(source, constants);
    let size = |(_, of): &Member| product(&of.extents)?.checked_mul(of.element_bytes);
    let mut fields = vec![];
    for array in kernel.shared_arrays() {
        let root = &array.source_name;
        let known = extents.iter().find(|(name, _)| name == root).map_or(&[][..], |(_, known)| &known.extents);
        let count = product(known).unwrap_or(u32::MAX).max(1);
        let fits = |(name, members): &&(String, Vec<Member>)| {
            let whole = members.iter().try_fold(0_u32, |sum, member| sum.checked_add(size(member)?));
            let bytes = whole.filter(|whole| *whole > 0).and_then(|whole| whole.checked_mul(count));
            known.len() < 2 && bytes == Some(array.bytes) && (name == root || declares(source, name, root))
        };
        let (root, offset, bytes) = (root.clone(), array.offset, array.bytes);
        let mut field = Field { root, offset, bytes, extents: known.to_vec(), ..Field::default() };
        let Some((_, members)) = structures.iter().find(fits) else {
            fields.push(field);
            continue;
        };
        for number in 0..count {
            field.number = (!known.is_empty()).then_some(number);
            for member in members {
                field.bytes = size(member).unwrap_or_default();
                (field.member, field.extents) = (format!(".{}", member.0), member.1.extents.clone());
                fields.push(field.clone());
                field.offset += field.bytes;
            }
        }
    }
    fields
}

/// Whether the source declares a variable with this type: `Slot slot[2]`.
fn declares(source: &str, name: &str, variable: &str) -> bool {
    source.match_indices("__shared__").any(|(at, _)| {
        let declaration = source[at..].split(';').next().unwrap_or_default();
        let words: Vec<&str> = declaration.split(|c| !is_name(c)).collect();
        words.contains(&name) && words.contains(&variable)
    })
}
