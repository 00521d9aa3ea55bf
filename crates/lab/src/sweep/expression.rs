//! Formulas of rays, such as `sqrt(2 * vocab * ln(vocab))`: numbers, parameters by name, `+ - * / ^`, brackets and a few functions.
//!
//! The parser is written here because the crates for this are unmaintained or have an incompatible licence. The functions are those
//! of `libm`, so that a formula gives the same cells on every machine.

use std::fmt;

/// A formula.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    root: Node,
    text: String,
}

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Number(f64),
    Name(String),
    Negative(Box<Node>),
    Operation(char, Box<Node>, Box<Node>),
    Function(&'static str, Vec<Node>),
}

/// The functions and their numbers of arguments; `None` for one or more.
const FUNCTIONS: [(&str, Option<usize>); 11] = [
    ("sqrt", Some(1)),
    ("ln", Some(1)),
    ("log2", Some(1)),
    ("log10", Some(1)),
    ("exp", Some(1)),
    ("round", Some(1)),
    ("floor", Some(1)),
    ("ceil", Some(1)),
    ("abs", Some(1)),
    ("min", None),
    ("max", None),
];

/// Maximum nesting of brackets, functions and signs.
const MAX_DEPTH: usize = 64;

/// The problem of a formula and its position.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("character {place}: {problem}")]
pub struct ExpressionError {
    /// The character, counted from 1.
    pub place: usize,
    /// The problem.
    pub problem: Problem,
}

/// A problem of a formula.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs)] // The messages explain the fields.
pub enum Problem {
    /// Something else is expected.
    #[error("{0} expected")]
    Expected(&'static str),
    /// A number cannot be parsed.
    #[error("{0:?} is not a number")]
    Number(String),
    /// A function is unknown.
    #[error("{0} is not a function; there are sqrt, ln, log2, log10, exp, round, floor, ceil, abs, min, max")]
    Function(String),
    /// A function has the wrong number of arguments.
    #[error("{name} takes {wanted} argument{}", if *.wanted == 1 { "" } else { "s" })]
    Arguments { name: &'static str, wanted: usize },
    /// The nesting is too deep.
    #[error("more than {MAX_DEPTH} nested brackets")]
    Deep,
}

impl Expression {
    /// Parses a formula.
    ///
    /// # Errors
    /// Fails at the first problem; the error names its position.
    pub fn parse(text: &str) -> Result<Expression, ExpressionError> {
        let mut parser = Parser { rest: text, text, depth: 0 };
        let root = parser.sum()?;
        match parser.peek() {
            None => Ok(Expression { root, text: text.into() }),
            Some(_) => Err(parser.expected("an operator or the end")),
        }
    }

    /// Returns the names in the formula.
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.root.names(&mut names);
        names
    }

    /// Returns the value, given those of the names; `None` if a name has no value.
    pub fn value(&self, of: &dyn Fn(&str) -> Option<f64>) -> Option<f64> {
        self.root.value(of)
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Node {
    fn names<'a>(&'a self, names: &mut Vec<&'a str>) {
        match self {
            Node::Number(_) => {}
            Node::Name(name) => names.push(name),
            Node::Negative(inner) => inner.names(names),
            Node::Operation(_, left, right) => [left, right].iter().for_each(|node| node.names(names)),
            Node::Function(_, arguments) => arguments.iter().for_each(|node| node.names(names)),
        }
    }

    fn value(&self, of: &dyn Fn(&str) -> Option<f64>) -> Option<f64> {
        Some(match self {
            Node::Number(x) => *x,
            Node::Name(name) => of(name)?,
            Node::Negative(inner) => -inner.value(of)?,
            Node::Operation(operation, left, right) => {
                let (a, b) = (left.value(of)?, right.value(of)?);
                match operation {
                    '+' => a + b,
                    '-' => a - b,
                    '*' => a * b,
                    '/' => a / b,
                    _ => libm::pow(a, b),
                }
            }
            Node::Function(name, arguments) => {
                let values: Option<Vec<f64>> = arguments.iter().map(|argument| argument.value(of)).collect();
                let values = values?;
                let x = values[0];
                match *name {
                    "sqrt" => x.sqrt(),
                    "ln" => libm::log(x),
                    "log2" => libm::log2(x),
                    "log10" => libm::log10(x),
                    "exp" => libm::exp(x),
                    "round" => x.round(),
                    "floor" => x.floor(),
                    "ceil" => x.ceil(),
                    "abs" => x.abs(),
                    "min" => values.iter().copied().fold(f64::INFINITY, f64::min),
                    _ => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                }
            }
        })
    }
}

/// A recursive-descent parser of sums, products, signs and powers.
struct Parser<'a> {
    rest: &'a str,
    text: &'a str,
    depth: usize,
}

impl Parser<'_> {
    /// Returns the next character that is not a space.
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn take(&mut self, wanted: char) -> bool {
        let there = self.peek() == Some(wanted);
        if there {
            self.rest = &self.rest[wanted.len_utf8()..];
        }
        there
    }

    /// Takes the longest prefix of such characters.
    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> String {
        let end = self.rest.find(|c| !wanted(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word.into()
    }

    fn wrong(&self, problem: Problem) -> ExpressionError {
        let read = &self.text[..self.text.len() - self.rest.len()];
        ExpressionError { place: read.chars().count() + 1, problem }
    }

    fn expected(&self, what: &'static str) -> ExpressionError {
        self.wrong(Problem::Expected(what))
    }

    fn operations(
        &mut self,
        signs: [char; 2],
        next: fn(&mut Self) -> Result<Node, ExpressionError>,
    ) -> Result<Node, ExpressionError> {
        let mut left = next(self)?;
        // A sum is nested to the left, as deep as it is long.
        let mut length = 0;
        while let Some(sign) = self.peek().filter(|sign| signs.contains(sign)) {
            length += 1;
            if length > MAX_DEPTH {
                return Err(self.wrong(Problem::Deep));
            }
            self.take(sign);
            left = Node::Operation(sign, Box::new(left), Box::new(next(self)?));
        }
        Ok(left)
    }

    fn sum(&mut self) -> Result<Node, ExpressionError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.wrong(Problem::Deep));
        }
        let sum = self.operations(['+', '-'], Self::product)?;
        self.depth -= 1;
        Ok(sum)
    }

    fn product(&mut self) -> Result<Node, ExpressionError> {
        self.operations(['*', '/'], Self::sign)
    }

    /// `-x ^ 2` is `-(x ^ 2)`.
    fn sign(&mut self) -> Result<Node, ExpressionError> {
        match self.take('-') {
            true => {
                self.depth += 1;
                if self.depth > MAX_DEPTH {
                    return Err(self.wrong(Problem::Deep));
                }
                let inner = self.sign()?;
                self.depth -= 1;
                Ok(Node::Negative(Box::new(inner)))
            }
            false => self.power(),
        }
    }

    /// `x ^ y ^ z` is `x ^ (y ^ z)`.
    fn power(&mut self) -> Result<Node, ExpressionError> {
        let base = self.atom()?;
        if !self.take('^') {
            return Ok(base);
        }
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.wrong(Problem::Deep));
        }
        let exponent = self.sign()?;
        self.depth -= 1;
        Ok(Node::Operation('^', Box::new(base), Box::new(exponent)))
    }

    fn atom(&mut self) -> Result<Node, ExpressionError> {
        match self.peek() {
            Some('(') => {
                self.take('(');
                let inner = self.sum()?;
                if self.take(')') { Ok(inner) } else { Err(self.expected("a closing bracket")) }
            }
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_ascii_alphabetic() => {
                let before = self.rest;
                let word = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
                if self.peek() == Some('(') {
                    self.function(&word, before.len())
                } else {
                    Ok(Node::Name(word))
                }
            }
            _ => Err(self.expected("a number, a parameter's name or a bracket")),
        }
    }

    /// Parses a number such as 4096, 65_536, 1e6 or 2.5e-3.
    fn number(&mut self) -> Result<Node, ExpressionError> {
        let digits = |c: char| c.is_ascii_digit() || c == '_' || c == '.';
        let mut word = self.take_while(digits);
        if self.rest.starts_with(['e', 'E']) {
            word.push('e');
            self.rest = &self.rest[1..];
            if self.rest.starts_with(['-', '+']) {
                word.push_str(&self.rest[..1]);
                self.rest = &self.rest[1..];
            }
            word += &self.take_while(|c| c.is_ascii_digit());
        }
        word.replace('_', "").parse().map(Node::Number).map_err(|_| self.wrong(Problem::Number(word)))
    }

    fn function(&mut self, word: &str, before: usize) -> Result<Node, ExpressionError> {
        let Some(&(name, wanted)) = FUNCTIONS.iter().find(|(name, _)| *name == word) else {
            let place = self.text[..self.text.len() - before].chars().count() + 1;
            return Err(ExpressionError { place, problem: Problem::Function(word.into()) });
        };
        self.take('(');
        let mut arguments = vec![self.sum()?];
        while self.take(',') {
            arguments.push(self.sum()?);
        }
        if !self.take(')') {
            return Err(self.expected("a comma or a closing bracket"));
        }
        match wanted {
            Some(wanted) if wanted != arguments.len() => Err(self.wrong(Problem::Arguments { name, wanted })),
            _ => Ok(Node::Function(name, arguments)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> f64 {
        let of = |name: &str| match name {
            "vocab" => Some(512.0),
            "noise_vocab" => Some(3.0),
            _ => None,
        };
        Expression::parse(text).unwrap().value(&of).unwrap()
    }

    #[test]
    fn formulas_are_evaluated() {
        for (text, expected) in [
            ("1 + 2 * 3", 7.0),
            ("(1 + 2) * 3", 9.0),
            ("10 - 4 - 3", 3.0),
            ("2 ^ 3 ^ 2", 512.0),
            ("-2 ^ 2", -4.0),
            ("2 ^ -1", 0.5),
            ("8 / 4 / 2", 1.0),
            (" 65_536 / 1e3", 65.536),
            ("2.5e-1*4", 1.0),
            ("sqrt(2 * vocab * ln(vocab))", 79.925),
            ("min(vocab, 3, noise_vocab + 1)", 3.0),
            ("max(1, 2) + log2(8) + abs(-1) + round(2.4) + floor(1.9) + ceil(0.1)", 10.0),
        ] {
            assert!((value(text) - expected).abs() < 1e-3, "{text}: {}", value(text));
        }
        assert_eq!(Expression::parse("dim").unwrap().value(&|_| None), None);
        assert_eq!(Expression::parse("a + b_2 * sqrt(a)").unwrap().names(), ["a", "b_2", "a"]);
    }

    #[test]
    fn errors_name_the_position() {
        for (text, message) in [
            ("", "character 1: a number, a parameter's name or a bracket expected"),
            ("2 *", "character 4: a number, a parameter's name or a bracket expected"),
            ("2 vocab", "character 3: an operator or the end expected"),
            ("(1 + 2", "character 7: a closing bracket expected"),
            ("sine(1)", "character 1: sine is not a function; there are"),
            ("sqrt(1, 2)", "character 11: sqrt takes 1 argument"),
            ("1.2.3", "character 6: \"1.2.3\" is not a number"),
            ("ä", "character 1: a number"),
        ] {
            let error = Expression::parse(text).unwrap_err().to_string();
            assert!(error.starts_with(message), "{text}: {error}");
        }
        for text in ["(".repeat(100_000), "-".repeat(100_000), "2^".repeat(100_000), "1+".repeat(100_000)] {
            assert!(Expression::parse(&text).is_err());
        }
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_text_does_not_panic(text in "[-+*/^(),._a-z0-9 äE]{0,40}") {
            if let Ok(expression) = Expression::parse(&text) {
                let _ = expression.value(&|_| Some(2.0));
            }
        }
    }
}
