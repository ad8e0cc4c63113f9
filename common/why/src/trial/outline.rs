//! Where statements begin and end, found by `;`, `{`, `}` and the brackets of `if`, `for` and `while`.

use super::lexer::Tokens;

/// A statement without a block of its own, with the heads that stand directly before it: `for (...) if (...) x = 1;`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// Its first token, behind its heads.
    pub first: usize,
    /// Its last token, a semicolon.
    pub last: usize,
    /// The heads without braces that stand before it, each from its keyword to its closing bracket.
    pub heads: Vec<(usize, usize)>,
    /// How many blocks are around it.
    pub depth: usize,
}

/// The statements of a source, and the places between them.
#[derive(Clone, Debug, Default)]
pub struct Outline {
    /// All statements inside of functions, in order.
    pub statements: Vec<Statement>,
    /// Tokens before which a statement can be put: each follows a `;`, a `{` or a `}` inside of a function.
    pub places: Vec<usize>,
    /// The conditions of `if`, without their brackets.
    pub conditions: Vec<(usize, usize)>,
    /// Heads with a block behind them: the keyword, the token before the brace, and the brace that closes the block.
    pub blocks: Vec<(usize, usize, usize)>,
}

impl Outline {
    /// Reads a source.
    pub fn read(tokens: &Tokens) -> Self {
        let mut outline = Self::default();
        let (mut at, mut depth, mut heads) = (0, 0_usize, vec![]);
        let is_rust = (0..tokens.all.len()).any(|at| tokens.of(at) == "fn" && tokens.is_word(at + 1));
        while at < tokens.all.len() {
            if tokens.all[at].directive {
                at += 1;
                continue;
            }
            let inside = depth > 0;
            if inside && heads.is_empty() {
                outline.places.push(at);
            }
            match tokens.of(at) {
                "{" => {
                    heads.clear();
                    (depth, at) = (depth + 1, at + 1);
                }
                "}" => {
                    heads.clear();
                    (depth, at) = (depth.saturating_sub(1), at + 1);
                }
                "else" | "do" | "loop" | "unsafe" => {
                    heads.push((at, at));
                    at += 1;
                }
                word @ ("if" | "for" | "while") if inside => {
                    let end = match tokens.of(at + 1) {
                        "(" if !is_rust => tokens.closing(at + 1),
                        _ => (at..tokens.all.len()).find(|&at| tokens.of(at + 1) == "{").unwrap_or(at),
                    };
                    if word == "if" {
                        let bracketed = usize::from(tokens.of(at + 1) == "(" && !is_rust);
                        outline.conditions.push((at + 1 + bracketed, end - bracketed));
                    }
                    if tokens.of(end + 1) == "{" {
                        outline.blocks.push((at, end, tokens.closing(end + 1)));
                    }
                    heads.push((at, end));
                    at = end + 1;
                }
                _ => {
                    let end = (at..tokens.all.len()).find(|&end| matches!(tokens.of(end), ";" | "{" | "}"));
                    let mut end = end.unwrap_or(tokens.all.len() - 1);
                    // Braces in a statement: a list of values, or a lambda.
                    while inside && tokens.of(end) == "{" && matches!(tokens.near(end, -1), "=" | "]" | "," | "(" | ")")
                    {
                        let close = tokens.closing(end);
                        if close == end {
                            break;
                        }
                        end = close;
                        end = (end..tokens.all.len())
                            .find(|&at| matches!(tokens.of(at), ";" | "{" | "}") && at > end)
                            .unwrap_or(end);
                    }
                    if inside && tokens.of(end) == ";" {
                        outline.statements.push(Statement {
                            first: at,
                            last: end,
                            heads: std::mem::take(&mut heads),
                            depth,
                        });
                    }
                    heads.clear();
                    at = if matches!(tokens.of(end), "{" | "}") && end > at { end } else { end + 1 };
                }
            }
        }
        outline
    }

    /// The statement that a token is in.
    pub fn statement_of(&self, at: usize) -> Option<&Statement> {
        self.statements.iter().find(|it| (it.first..=it.last).contains(&at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_and_the_places_between_them_are_found() {
        let text = "#define T 2\nvoid f(int a) {\n int b[2] = {0};\n if (a) return;\n for (int i = 0; i < a; ++i) { b[i] += 1; g(); }\n}";
        let tokens = Tokens::read(text);
        let outline = Outline::read(&tokens);
        let written = |it: &Statement| tokens.written(it.first, it.last).to_owned();
        let all: Vec<String> = outline.statements.iter().map(written).collect();
        assert_eq!(all, ["int b[2] = {0};", "return;", "b[i] += 1;", "g();"]);
        assert_eq!(outline.statements.iter().map(|it| it.heads.len()).collect::<Vec<_>>(), [0, 1, 0, 0]);
        let places: Vec<&str> = outline.places.iter().map(|&at| tokens.of(at)).collect();
        assert_eq!(places, ["int", "if", "for", "b", "g", "}", "}"]);
        assert_eq!(outline.conditions.iter().map(|&(from, to)| tokens.written(from, to)).collect::<Vec<_>>(), ["a"]);
        assert_eq!(outline.blocks.len(), 1);
    }
}
