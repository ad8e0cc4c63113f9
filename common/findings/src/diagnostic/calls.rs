//! What a call tells about a mistake: its arguments in another order than the parameters, a function that changes copies alone,
//! the condition under which a function returns a value.

use std::ops::Range;

use super::source::{Set, Source};
use super::spot::Spot;
use super::statements::{closing, is_word};
use super::underline::Mark;

impl Source {
    /// The parts of a list in brackets, separated by commas.
    fn parts(&self, open: usize) -> Vec<Range<usize>> {
        self.split(&(open + 1..closing(&self.tokens, open)), |word| word == ",")
    }

    /// Where the parameters of a function of C++ have their names; nothing for those that are references.
    fn parameters(&self, function: &str) -> Vec<Option<usize>> {
        let mut heads = self.statements.iter().filter(|head| head.keyword == "fn").flat_map(|head| head.tokens.clone());
        let open = heads.find(|&at| self.text(at) == function && self.text(at + 1) == "(");
        let name = |of: Range<usize>| {
            let end = of.clone().find(|&at| matches!(self.text(at), "=" | "[")).unwrap_or(of.end);
            let is_named = end > of.start + 1 && !self.words(&of).iter().any(|word| word.text == "&");
            is_named.then(|| end - 1)
        };
        open.map_or(vec![], |at| self.parts(at + 1)).into_iter().map(name).collect()
    }
}

impl Spot {
    /// The parameters that are copies and that their function adds to.
    pub fn changed_copies(&self) -> Vec<Mark> {
        let copy = |set: &Set| {
            let function = self.functions.get(self.statements[set.at].function.checked_sub(1)?)?;
            let is_it = |at: &usize| self.text(*at) == set.root() && is_word(self.text(at - 1));
            let at = self.parameters(function).into_iter().flatten().find(is_it)?;
            Some(self.at_line(self.line_of(at), format!("`{}` is a copy here", set.root())))
        };
        self.sets().iter().filter(|set| set.operator == "+=").filter_map(copy).collect()
    }

    /// The arguments in a line that have the name of another parameter of the function than the one which they are given to:
    /// "`N` for `M`", or nothing.
    pub fn exchanged(&self, line: u32) -> String {
        let mut found: Vec<String> = vec![];
        let on_line = self.on_line(line).statement().map_or(0..0, |at| self.statements[at].tokens.clone());
        for at in on_line.clone().filter(|&at| self.functions.iter().any(|name| is_word(name) && name == self.text(at)))
        {
            // The arguments of a template may come first.
            let Some(open) = (at..on_line.end).find(|&at| self.text(at) == "(") else { continue };
            let (given, taken) = (self.parts(open), self.parameters(self.text(at)));
            let names: Vec<&str> = taken.iter().flatten().map(|at| self.text(*at)).collect();
            for (given, name) in given.iter().zip(&taken).filter(|_| given.len() == taken.len()) {
                let given = if given.len() == 1 { self.text(given.start) } else { "" };
                let name = name.map_or(given, |at| self.text(at));
                if is_word(given) && given != name && names.contains(&given) {
                    found.push(format!("`{given}` for `{name}`"));
                }
            }
        }
        found.join(" and ")
    }

    /// Where a function sets its parameters and nothing else, which nobody sees.
    pub fn lost_sets(&self) -> Vec<Mark> {
        let mut marks = vec![];
        for (number, name) in (1..).zip(&self.functions) {
            let taken = self.parameters(name);
            let mut inside = (0..self.statements.len()).filter(|&at| self.statements[at].function == number);
            let does_more = |at: usize| self.has(at, |word| matches!(word, "(" | "return" | "[" | "->" | "."));
            let mut sets = self.sets().iter().filter(|set| self.statements[set.at].function == number);
            let is_lost = !taken.contains(&None) && !inside.any(does_more) && !sets.clone().any(|set| set.indexed);
            let is_taken = |set: &Set| taken.iter().flatten().any(|at| self.text(*at) == set.path);
            let set = sets.find(|set| is_lost && !set.declares && is_taken(set));
            let label = |name: &str| format!("`{name}` is a copy: this changes nothing for the caller");
            marks.extend(set.map(|set| self.at_line(set.line, label(&set.path))));
        }
        marks
    }

    /// If this returns a value under a condition: that, and the lines that set the members which it compares.
    pub fn returned_under(&self) -> Vec<Mark> {
        let Some(own) = self.statement().filter(|&at| self.statements[at].keyword == "return") else { return vec![] };
        let Some(&head) = self.heads(own, &["if"]).first() else { return vec![] };
        let compared = self.names(&self.statements[head].tokens);
        let is_member = |set: &&Set| set.path.contains('.') && compared.iter().any(|name| name == set.last());
        let sets = self.sets().iter().filter(is_member).take(2);
        let sets = sets.map(|set| self.at_line(set.line, format!("`{}` is set here", set.path)));
        self.at_lines([self.line(head)], "it depends on this").into_iter().chain(sets).collect()
    }
}
