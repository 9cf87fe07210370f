//! Conditions and expressions of a query: values that a store computes from the fields of an element, and aggregates
//! of a group of elements.

use crate::query::full_text::FullText;
use crate::{Value, Verb};

/// A condition on one element.
#[derive(Clone, Debug, PartialEq)]
pub enum Filter {
    /// A field compared with a value.
    Compare(String, Comparison, Value),
    /// A text field that begins with a text.
    Prefix(String, String),
    /// A text field that ends with a text.
    Suffix(String, String),
    /// A text field that contains a text.
    Contains(String, String),
    /// One computed value compared with another one.
    Test(QueryExpression, Comparison, QueryExpression),
    /// A computed text compared with a part.
    Match(QueryExpression, TextMatch, String),
    /// Words that occur in texts.
    FullText(FullText),
    /// There are such related elements.
    Exists(Box<RelatedElements>),
    /// Every one of them holds.
    All(Vec<Filter>),
    /// At least one of them holds.
    Any(Vec<Filter>),
    /// It does not hold.
    Not(Box<Filter>),
}

/// How a part stands in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextMatch {
    /// At its beginning.
    Prefix,
    /// At its end.
    Suffix,
    /// Anywhere.
    Contains,
}

/// How two values compare. Nil equals nil and nothing else; booleans equal 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// Equal.
    Equal,
    /// Not equal.
    NotEqual,
    /// Less.
    Less,
    /// Less or equal.
    LessOrEqual,
    /// Greater.
    Greater,
    /// Greater or equal.
    GreaterOrEqual,
}

/// A value that is computed from an element, or from a group of them.
#[derive(Clone, Debug, PartialEq)]
pub enum QueryExpression {
    /// A field of the element, or of a related one: `author.name` where `author` is a [`Relation`] of the query.
    Field(String),
    /// A value that is the same for every element.
    Value(Value),
    /// Two numbers. With nil the result is nil, and so is a division by zero.
    Arithmetic(ArithmeticOperator, Box<QueryExpression>, Box<QueryExpression>),
    /// A function of a text. Of nil, and of what is no text, it is nil.
    Text(TextFunction, Box<QueryExpression>),
    /// The number of elements in the group.
    Count,
    /// A function of the values that an expression has over the group. Values that are nil do not count.
    Aggregate(AggregateFunction, Box<QueryExpression>),
    /// An aggregate of related elements: how many there are, or a function of their values.
    OfRelated(Box<RelatedElements>, Box<QueryExpression>),
}

/// The arithmetic of query expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArithmeticOperator {
    /// Integers stay integers.
    Add,
    /// Integers stay integers.
    Subtract,
    /// Integers stay integers.
    Multiply,
    /// Integers become floating-point numbers.
    Divide,
}

/// The functions of texts in query expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextFunction {
    /// Lower case by Unicode.
    Lower,
    /// Upper case by Unicode.
    Upper,
    /// The number of characters.
    Length,
}

/// What is computed from the values of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AggregateFunction {
    /// How many different values there are.
    CountDistinct,
    /// The sum; 0 of no values.
    Sum,
    /// The sum divided by the number of values; nil of no values.
    Average,
    /// The least value; nil of no values.
    Min,
    /// The largest value; nil of no values.
    Max,
}

/// Fields whose columns have another name in a database, each with that name.
pub type ColumnNames = Vec<(String, String)>;

/// The collection of related elements, as their class sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RelatedTable {
    /// Its name.
    pub name: String,
    /// The fields whose columns have another name.
    pub columns: ColumnNames,
}

/// A related element: the one in another collection whose `key` is the value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    /// The path by which expressions name it: `author`, `author.publisher`.
    pub path: String,
    /// The collection of the related element, beside that of the query.
    pub table: RelatedTable,
    /// The field of the related element that is compared.
    pub key: String,
}

/// The elements of another collection that refer to an element: the books of an author.
#[derive(Clone, Debug, PartialEq)]
pub struct RelatedElements {
    /// The other collection, beside that of the query.
    pub table: RelatedTable,
    /// The field of the related elements that refers.
    pub field: String,
    /// The field that it refers to, as expressions of the query name it: `id`, `author.id`.
    pub key: String,
    /// Which of them; all when absent. Fields are those of the related elements.
    pub filter: Option<Filter>,
    /// The elements that their paths name in turn.
    pub relations: Vec<Relation>,
}

/// A change of all elements that a filter selects.
#[derive(Clone, Debug, PartialEq)]
pub enum BulkChange {
    /// They are deleted.
    Delete,
    /// These fields are set, to values that are computed from the element as it was.
    Set(Vec<(String, QueryExpression)>),
}

impl QueryExpression {
    /// Whether it is computed from a group.
    pub fn is_aggregate(&self) -> bool {
        match self {
            QueryExpression::Count | QueryExpression::Aggregate(..) => true,
            QueryExpression::Field(_)
            | QueryExpression::Value(_)
            | QueryExpression::OfRelated(..) => false,
            QueryExpression::Text(_, inner) => inner.is_aggregate(),
            QueryExpression::Arithmetic(_, left, right) => {
                left.is_aggregate() || right.is_aggregate()
            }
        }
    }
}

impl BulkChange {
    /// The verb that does the same to one element.
    pub fn verb(&self) -> Verb {
        match self {
            BulkChange::Delete => Verb::Delete,
            BulkChange::Set(_) => Verb::Merge,
        }
    }
}
