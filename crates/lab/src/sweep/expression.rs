//! Formulas of parameters of a sweep, such as `sqrt(2 * vocab * ln(vocab))`: numbers, names, `+ - * / ^`, brackets and functions.
//!
//! The parser is written here because the crates for this are unmaintained or have an incompatible licence. The functions are
//! those of `libm`, so that a formula gives the same cells on every machine.

use std::fmt;
use std::ops::{Add, Div, Mul, Sub};

#[derive(Clone, Debug)]
pub struct Expression {
    root: Node,
    pub names: Vec<String>,
    text: String,
}

#[derive(Clone, Debug)]
enum Node {
    Number(f64),
    Name(String),
    Negative(Box<Node>),
    Operation(Operation, Box<Node>, Box<Node>),
    Function(fn(f64) -> f64, Box<Node>),
    Fold(f64, fn(f64, f64) -> f64, Vec<Node>),
}

type Operation = fn(f64, f64) -> f64;

type Function = (&'static str, fn(f64) -> f64);

const FUNCTIONS: [Function; 9] = [
    ("sqrt", f64::sqrt),
    ("ln", libm::log),
    ("log2", libm::log2),
    ("log10", libm::log10),
    ("exp", libm::exp),
    ("round", f64::round),
    ("floor", f64::floor),
    ("ceil", f64::ceil),
    ("abs", f64::abs),
];

/// The functions of one or more arguments, with their values for none.
type Fold = (&'static str, f64, fn(f64, f64) -> f64);
const FOLDS: [Fold; 2] = [("min", f64::INFINITY, f64::min), ("max", f64::NEG_INFINITY, f64::max)];

/// Maximum nesting of brackets, functions and signs.
const MAX_DEPTH: usize = 64;

impl Expression {
    /// Parses a formula. The error names the position of the first problem.
    pub fn parse(text: &str) -> Result<Expression, String> {
        let mut parser = Parser { rest: text, text, depth: 0, names: Vec::new() };
        let root = parser.sum()?;
        match parser.peek() {
            None => Ok(Expression { root, names: parser.names, text: text.into() }),
            Some(_) => Err(parser.wrong("an operator or the end expected")),
        }
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
    fn value(&self, of: &dyn Fn(&str) -> Option<f64>) -> Option<f64> {
        Some(match self {
            Node::Number(x) => *x,
            Node::Name(name) => of(name)?,
            Node::Negative(inner) => -inner.value(of)?,
            Node::Operation(operation, left, right) => operation(left.value(of)?, right.value(of)?),
            Node::Function(function, argument) => function(argument.value(of)?),
            Node::Fold(start, function, arguments) => {
                arguments.iter().try_fold(*start, |value, node| Some(function(value, node.value(of)?)))?
            }
        })
    }
}

/// A recursive-descent parser of sums, products, signs and powers. An error names its position.
struct Parser<'a> {
    rest: &'a str,
    text: &'a str,
    depth: usize,
    names: Vec<String>,
}

type Parsed = Result<Node, String>;

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

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> String {
        let end = self.rest.find(|c| !wanted(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word.into()
    }

    fn wrong(&self, problem: impl fmt::Display) -> String {
        let read = &self.text[..self.text.len() - self.rest.len()];
        format!("character {}: {problem}", read.chars().count() + 1)
    }

    fn too_deep(&self) -> String {
        self.wrong(format!("more than {MAX_DEPTH} nested brackets"))
    }

    fn deeper(&mut self, parse: impl FnOnce(&mut Self) -> Parsed) -> Parsed {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.too_deep());
        }
        let node = parse(self)?;
        self.depth -= 1;
        Ok(node)
    }

    fn operations(&mut self, signs: [(char, Operation); 2], next: fn(&mut Self) -> Parsed) -> Parsed {
        let mut left = next(self)?;
        // A sum is nested to the left, as deep as it is long.
        let mut length = 0;
        while let Some((_, operation)) = signs.into_iter().find(|(sign, _)| self.take(*sign)) {
            length += 1;
            if length > MAX_DEPTH {
                return Err(self.too_deep());
            }
            left = Node::Operation(operation, Box::new(left), Box::new(next(self)?));
        }
        Ok(left)
    }

    fn sum(&mut self) -> Parsed {
        self.deeper(|parser| parser.operations([('+', f64::add), ('-', f64::sub)], Self::product))
    }

    fn product(&mut self) -> Parsed {
        self.operations([('*', f64::mul), ('/', f64::div)], Self::sign)
    }

    /// `-x ^ 2` is `-(x ^ 2)`.
    fn sign(&mut self) -> Parsed {
        match self.take('-') {
            true => Ok(Node::Negative(Box::new(self.deeper(Self::sign)?))),
            false => self.power(),
        }
    }

    /// `x ^ y ^ z` is `x ^ (y ^ z)`.
    fn power(&mut self) -> Parsed {
        let base = self.atom()?;
        match self.take('^') {
            true => Ok(Node::Operation(libm::pow, Box::new(base), Box::new(self.deeper(Self::sign)?))),
            false => Ok(base),
        }
    }

    fn atom(&mut self) -> Parsed {
        match self.peek() {
            Some('(') => {
                self.take('(');
                let inner = self.sum()?;
                if self.take(')') { Ok(inner) } else { Err(self.wrong("a closing bracket expected")) }
            }
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_ascii_alphabetic() => {
                let start = self.wrong("");
                let word = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
                if self.peek() == Some('(') {
                    return self.function(&word, &start);
                }
                self.names.push(word.clone());
                Ok(Node::Name(word))
            }
            _ => Err(self.wrong("a number, a parameter's name or a bracket expected")),
        }
    }

    /// Parses a number such as 4096, 65_536, 1e6 or 2.5e-3.
    fn number(&mut self) -> Parsed {
        let mut word = self.take_while(|c| c.is_ascii_digit() || c == '_' || c == '.');
        if self.rest.starts_with(['e', 'E']) {
            word.push('e');
            self.rest = &self.rest[1..];
            if self.rest.starts_with(['-', '+']) {
                word.push_str(&self.rest[..1]);
                self.rest = &self.rest[1..];
            }
            word += &self.take_while(|c| c.is_ascii_digit());
        }
        let number = word.replace('_', "").parse().map(Node::Number);
        number.map_err(|_| self.wrong(format!("{word:?} is not a number")))
    }

    /// Parses the arguments of the function `word`, which begins at the position that `start` names.
    fn function(&mut self, word: &str, start: &str) -> Parsed {
        let function = FUNCTIONS.iter().find(|(name, _)| *name == word);
        let fold = FOLDS.iter().find(|(name, ..)| *name == word);
        if function.is_none() && fold.is_none() {
            let names: Vec<&str> = FUNCTIONS.iter().map(|f| f.0).chain(FOLDS.iter().map(|f| f.0)).collect();
            return Err(format!("{start}{word} is not a function; there are {}", names.join(", ")));
        }
        self.take('(');
        let mut arguments = vec![self.sum()?];
        while self.take(',') {
            arguments.push(self.sum()?);
        }
        if !self.take(')') {
            return Err(self.wrong("a comma or a closing bracket expected"));
        }
        match (fold, function) {
            (Some(&(_, start, fold)), _) => Ok(Node::Fold(start, fold, arguments)),
            (None, Some(&(_, function))) if arguments.len() == 1 => {
                Ok(Node::Function(function, Box::new(arguments.remove(0))))
            }
            _ => Err(self.wrong(format!("{word} takes 1 argument"))),
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
        assert_eq!(Expression::parse("a + b_2 * sqrt(a)").unwrap().names, ["a", "b_2", "a"]);
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
            let error = Expression::parse(text).unwrap_err();
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
