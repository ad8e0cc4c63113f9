//! How shared memory is divided: the arrays that a kernel declares there, and the members of its structures.

use simt::analyses::declarations::{Extents, shared_extents};
use simt::{Array, Place, Space};

/// The members of a structure, in their order.
type Members = Vec<(String, Extents)>;

/// A shared array, or an array that is a member of a structure there.
#[derive(Clone, Debug)]
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
    /// As one writes it: `slot[0].a`.
    pub fn name(&self) -> String {
        let number = self.number.map_or_else(String::new, |number| format!("[{number}]"));
        format!("{}{number}{}", self.root, self.member)
    }

    /// The element that a byte of shared memory is in.
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
        Place::Element { array: Array { name: self.name(), space: Space::Shared }, index, bytes: 0 }
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

/// The structures of a source with so many shared arrays, each with its name, or with that of the variable that it is declared with.
fn structures(source: &str, constants: &[(&str, i64)], arrays: usize) -> Vec<(String, Members)> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = vec![];
    for (at, word) in source.match_indices("struct ").take(MOST) {
        let Some((head, rest)) = source[at + word.len()..].split_once('{') else { continue };
        let Some((body, behind)) = rest.split_once('}').filter(|_| !head.contains([';', '&', '*', ',', '='])) else {
            continue;
        };
        let declared = behind.split([';', '[']).next().unwrap_or_default();
        let names = [head, declared].map(|part| part.rsplit(|c| !is_name(c)).find(|name| !name.is_empty()));
        // The members are read like shared arrays; one that is no array has no known size, and then the sizes will not agree.
        let members = body.split(';').collect::<Vec<_>>().join("; __shared__ ");
        let all = shared_extents(&format!("{source}\n__shared__ {members};"), constants);
        let members: Members = all.into_iter().skip(arrays).collect();
        found.extend(names.into_iter().flatten().map(|name| (name.to_owned(), members.clone())));
    }
    found
}

/// The fields of the shared arrays of a kernel.
pub fn fields(
    kernel: &simt::Kernel,
    source: &str,
    constants: &[(&str, i64)],
    extents: &[(String, Extents)],
) -> Vec<Field> {
    let structures = structures(source, constants, extents.len());
    let mut fields = vec![];
    for array in kernel.shared_arrays() {
        let root = &array.source_name;
        let known = extents.iter().find(|(name, _)| name == root).map_or(&[][..], |(_, known)| &known.extents);
        let is_of = |name: &str| name == root || declares(source, name, root);
        let of = structures.iter().find(|(name, _)| is_of(name)).map_or(&[][..], |(_, members)| members);
        let size = |of: &Extents| product(&of.extents)?.checked_mul(of.element_bytes);
        let sizes: Option<Vec<u32>> = of.iter().map(|(_, member)| size(member)).collect();
        let whole = sizes.iter().flatten().try_fold(0_u32, |sum, &size| sum.checked_add(size)).unwrap_or(0);
        let count = product(known).unwrap_or(u32::MAX).max(1);
        if sizes.is_none() || whole == 0 || known.len() > 1 || whole.checked_mul(count) != Some(array.bytes) {
            let (root, extents) = (root.clone(), known.to_vec());
            fields.push(Field {
                root,
                number: None,
                member: String::new(),
                offset: array.offset,
                bytes: array.bytes,
                extents,
            });
            continue;
        }
        let mut offset = array.offset;
        for number in 0..count {
            for ((name, member), &bytes) in of.iter().zip(sizes.iter().flatten()) {
                let number = (!known.is_empty()).then_some(number);
                let member_name = format!(".{name}");
                let extents = member.extents.clone();
                fields.push(Field { root: root.clone(), number, member: member_name, offset, bytes, extents });
                offset += bytes;
            }
        }
    }
    fields
}

/// Whether the source declares a variable with this type: `Slot slot[2]`.
fn declares(source: &str, name: &str, variable: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    source.match_indices("__shared__").any(|(at, _)| {
        let declaration = source[at..].split(';').next().unwrap_or_default();
        let words: Vec<&str> = declaration.split(|c| !is_name(c)).collect();
        words.contains(&name) && words.contains(&variable)
    })
}
