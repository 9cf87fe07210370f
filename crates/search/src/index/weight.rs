//! The weight of a word in a category.

use crate::format::number::Score;
use std::fmt;
use std::sync::Arc;

/// A function from a word to its weight.
pub type WeightFunction = Arc<dyn Fn(&str) -> Score + Send + Sync>;

/// The weight of a word in a category: its contribution to the score of an interpretation.
#[derive(Clone)]
pub enum Weight {
    /// A constant plus the natural logarithm of the number of documents, rounded to three decimals.
    Logarithmic(Score),
    /// The same for every word, also for words without documents.
    Constant(Score),
    /// The result of a function, for every word, also for words without documents.
    Function(WeightFunction),
}

impl Default for Weight {
    fn default() -> Weight {
        Weight::Logarithmic(Score::ZERO)
    }
}

impl fmt::Debug for Weight {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Weight::Logarithmic(number) => write!(formatter, "Logarithmic({})", number.value()),
            Weight::Constant(number) => write!(formatter, "Constant({})", number.value()),
            Weight::Function(_) => formatter.write_str("Function"),
        }
    }
}

impl Weight {
    /// The weight of a word with `count` documents, at least 1.
    pub(crate) fn weigh(&self, word: &str, count: usize) -> Score {
        match self {
            Weight::Logarithmic(constant) => {
                let rounded = ((count.max(1) as f64).ln() * 1000.0).round() / 1000.0;
                *constant + Score::float(rounded)
            }
            Weight::Constant(number) => *number,
            Weight::Function(weight) => weight(word),
        }
    }

    /// The weight of a word without documents.
    pub(crate) fn of_unknown(&self, word: &str) -> Option<Score> {
        match self {
            Weight::Logarithmic(_) => None,
            Weight::Constant(number) => Some(*number),
            Weight::Function(weight) => Some(weight(word)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_have_three_decimals() {
        let weight = Weight::default();
        assert_eq!(weight.weigh("x", 1), Score::float(0.0));
        assert_eq!(weight.weigh("x", 262), Score::float(5.568));
        assert_eq!(Weight::Logarithmic(1.into()).weigh("x", 25), Score::float(1.0 + 3.219));
        assert_eq!(weight.of_unknown("x"), None);
    }

    #[test]
    fn constants_and_functions_know_every_word() {
        assert_eq!(Weight::Constant(3.into()).of_unknown("x"), Some(Score::integer(3)));
        let length = Weight::Function(Arc::new(|word| Score::integer(word.len() as i64)));
        assert_eq!(length.weigh("1988", 7), Score::integer(4));
        assert_eq!(length.of_unknown("ab"), Some(Score::integer(2)));
    }
}
