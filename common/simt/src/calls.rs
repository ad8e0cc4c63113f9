//! Calls through registers. Each becomes a choice among the functions whose address the file takes and that have as many results and
//! parameters: the register is compared with one address after the other, and the function is called by its name.

use crate::ast::{Item, Operand, Program, Register, Statement, Type};
use std::collections::HashSet;
use std::sync::Arc;

/// A word that only these calls have, which may name a function before it is declared.
pub(crate) const INDIRECT: &str = "indirect";

/// The address of a function, by its number: between those that come from a null pointer and those of memory.
pub(crate) const fn address(function: usize) -> u64 {
    (1 << 40) + 16 * function as u64
}

/// Where a call has its register among the operands, if it has one.
fn register_of(item: &Item) -> Option<usize> {
    let Item::Statement(Statement { words, operands, .. }) = item else { return None };
    let at = usize::from(matches!(operands.first(), Some(Operand::List(_))));
    (words[0] == "call" && matches!(operands.get(at), Some(Operand::Register { .. }))).then_some(at)
}

/// Replaces the calls through registers of a program.
pub(crate) fn direct(program: &mut Program) {
    if !program.functions.iter().any(|function| function.body.iter().any(|item| register_of(item).is_some())) {
        return;
    }
    let items = program.functions.iter().flat_map(|function| &function.body);
    let statements = items.filter_map(|item| match item {
        Item::Statement(statement) if statement.words[0] != "call" => Some(&statement.operands),
        _ => None,
    });
    let named = statements.flatten().filter_map(|operand| match operand {
        Operand::Name { name, .. } => Some(&**name),
        _ => None,
    });
    let initial = program.variables.iter().flat_map(|variable| &variable.init_symbols).map(|(_, name, ..)| &**name);
    let taken: HashSet<&str> = named.chain(initial).collect();
    let functions = program.functions.iter().enumerate();
    let functions = functions.filter(|(_, function)| function.defined && taken.contains(&*function.name));
    let counts = functions.map(|(number, one)| (number, Arc::from(&*one.name), [one.results.len(), one.params.len()]));
    let targets: Vec<(usize, Arc<str>, [usize; 2])> = counts.collect();
    for function in &mut program.functions {
        let chosen = function.registers.len() as u32;
        function.registers.push(Register { name: "%called".into(), kind: Type::Pred });
        let mut body = vec![];
        for item in std::mem::take(&mut function.body) {
            match (register_of(&item), item) {
                (Some(at), Item::Statement(call)) => choose(&call, at, chosen, &targets, &mut body),
                (_, item) => body.push(item),
            }
        }
        function.body = body;
    }
}

/// A call whose operand number `at` is the address.
fn choose(call: &Statement, at: usize, chosen: u32, targets: &[(usize, Arc<str>, [usize; 2])], body: &mut Vec<Item>) {
    let statement = |words: &[&str], operands: Vec<Operand>| Statement {
        guard: None,
        words: words.iter().map(|&word| word.into()).collect(),
        operands,
        position: call.position,
    };
    let name = |name: &Arc<str>| Operand::Name { name: name.clone(), offset: 0 };
    let list = |operand: Option<&Operand>| if let Some(Operand::List(list)) = operand { list.clone() } else { vec![] };
    let (results, arguments) = (list(call.operands[..at].first()), list(call.operands.get(at + 1)));
    // Labels no source can contain.
    let end: Arc<str> = format!(" called {}", body.len()).into();
    for (number, target, _) in targets.iter().filter(|target| target.2 == [results.len(), arguments.len()]) {
        let next: Arc<str> = format!(" next {}", body.len()).into();
        let register = Operand::Register { id: chosen, negated: false };
        let compared = vec![register, call.operands[at].clone(), Operand::Integer(address(*number) as i64)];
        let called = vec![Operand::List(results.clone()), name(target), Operand::List(arguments.clone())];
        body.push(Item::Statement(statement(&["setp", "ne", "u64"], compared)));
        let other = statement(&["bra"], vec![name(&next)]);
        body.push(Item::Statement(Statement { guard: Some((chosen, false)), ..other }));
        body.push(Item::Statement(Statement { guard: call.guard, ..statement(&["call", INDIRECT], called) }));
        body.push(Item::Statement(statement(&["bra"], vec![name(&end)])));
        body.push(Item::Label(next));
    }
    // It is none of them.
    body.push(Item::Statement(statement(&["trap"], vec![])));
    body.push(Item::Label(end));
}
