//! The report of a study as a paper: set-up with every symbol, the results in one table, one section per claim, and how it was made.
//!
//! The same content is written as one HTML file that opens offline, as Markdown, and as a LaTeX table of the main results.

mod html;
mod markdown;

use crate::numbers::plural;
use crate::study::{Claim, Section, counted};

/// What a page says about how it was made: names and values.
pub type Facts = Vec<(String, String)>;

/// The report of a study.
pub struct Report<'a> {
    /// The words of its scale.
    pub scale: String,
    /// Its seed.
    pub seed: u64,
    /// Its sections.
    pub sections: &'a [Section],
    /// How it was made.
    pub facts: Facts,
}

const TITLE: &str = "How many facts can a transformer learn to recall?";

/// The answer to the question of the title, by the leading order of the closed form.
const ANSWER: &str = "A model with embeddings of dimension d can hold V facts if d^2 is larger than about 2 V log V. How many samples it needs to learn them depends on products of the sizes: more facts, a smaller dimension and longer sequences multiply the need for samples.";

/// The paragraphs of the set-up.
const SET_UP: [&str; 4] = [
    "A fact is a token and its label. There are V facts. The model sees a sequence of L tokens, of which only one matters: a trigger vector marks it. The model must find that token and answer with its label. All tokens, labels and the trigger have fixed random embeddings of dimension d. With more facts than dimensions the embeddings overlap, so that facts interfere with one another.",
    "The model has one attention layer, which finds the token, and a matrix behind it, which stores the facts; some models have an MLP of width m there. Three steps of gradient descent on N sequences train it: the first stores facts, the second teaches the attention where to look, the third stores facts again. One step means that only the first is taken.",
    "Recall is the share of fresh sequences that the model answers with the right label. The critical N is the number of samples at which recall, averaged over seeds, reaches one half. Each critical N is measured by a search over trainings with different seeds, and predicted by a closed form without fitted constants.",
    "Intervals cover 95%, so that about one in twenty misses even if the prediction is exact. A measured value agrees with its prediction if the interval of their ratio contains 1; for a fitted exponent, if the interval of the difference contains 0. If not, the verdict is \"within 15%\" for a ratio from 0.87 to 1.15, and \"differs\" for any other. Lock rates agree if at least 85% of the intervals contain the prediction; decoders agree with a lower bound if no interval lies below it.",
];

/// Symbols and their meanings.
const SYMBOLS: [(&str, &str); 11] = [
    ("V", "number of facts; a fact is a token and its label"),
    ("d", "dimension of the embeddings"),
    ("L", "tokens in a sequence; one of them is marked by the trigger"),
    ("N", "training sequences (samples)"),
    ("m", "width of the MLP, where the model has one"),
    ("critical N", "samples at which mean recall reaches one half"),
    ("recall", "share of fresh sequences answered with the right label"),
    ("lock rate", "share of sequences whose largest attention weight is on the marked token"),
    ("ratio", "measured over predicted"),
    ("closed form", "the formulas of the theory, evaluated without simulation"),
    ("log", "natural logarithm"),
];

impl Report<'_> {
    /// The command that makes a section.
    fn command(&self, section: &Section) -> String {
        format!("superpose reproduce --scale {} --seed {} --only {}", self.scale, self.seed, section.id)
    }

    /// All claims, with the number of the section of each.
    fn claims(&self) -> impl Iterator<Item = (usize, &Section, &Claim)> {
        let numbered = self.sections.iter().enumerate();
        numbered.flat_map(|(i, section)| section.claims.iter().map(move |claim| (i + 1, section, claim)))
    }

    /// How many claims agree, and which do not.
    fn summary(&self) -> String {
        let count = |word: &str| self.claims().filter(|(.., claim)| claim.agreement == word).count();
        let counts = ["agrees", "close", "differs"].map(count);
        let (all, tested) = (self.claims().count(), counts.iter().sum::<usize>());
        let untested =
            if all > tested { format!("{} without a verdict", all - tested) } else { String::new() };
        let none = if tested > 0 && counts[2] == 0 { "none differs" } else { "" };
        let which =
            |&(number, _, claim): &(usize, &Section, &Claim)| format!("{} (section {number})", claim.claim);
        let failures: Vec<(usize, &Section, &Claim)> =
            self.claims().filter(|(.., claim)| claim.agreement == "differs").collect();
        let failures: Vec<String> = failures.iter().map(which).collect();
        let list = if failures.is_empty() { String::new() } else { format!(": {}", failures.join("; ")) };
        // The rows that differ are listed behind their number.
        let mut parts = vec![plural(all, "row", "rows"), untested, counted(counts), none.into()];
        parts.retain(|part| !part.is_empty());
        format!("Of {}{list}.", parts.join(", "))
    }

    /// The main results as a LaTeX table.
    pub fn latex(&self) -> String {
        use crate::markup::latex;
        let mut text = String::from(
            "% Needs \\usepackage{booktabs}.\n\\begin{table}\n\\small\n\\caption{Measured and predicted values, with 95\\% intervals.}\n\\label{tab:superpose}\n\\begin{tabular}{rp{.33\\linewidth}p{.25\\linewidth}ll}\n\\toprule\nsection & claim & measured & predicted & verdict \\\\\n\\midrule\n",
        );
        for (number, _, claim) in self.claims() {
            let cells =
                [&claim.claim, &claim.measured, &claim.predicted, &claim.verdict].map(|cell| latex(cell));
            text += &format!("{number} & {} \\\\\n", cells.join(" & "));
        }
        text + "\\bottomrule\n\\end{tabular}\n\\end{table}\n"
    }
}
