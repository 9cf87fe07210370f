//! The configuration of a category: what it indexes of a document, and how.

use crate::index::grid::Grid;
use crate::index::partial::Partial;
use crate::index::similarity::Similarity;
use crate::index::weight::Weight;
use crate::text::tokenizer::Tokenizer;

/// The configuration of a category: one aspect of documents in which words are found.
#[derive(Clone, Debug)]
pub struct Category {
    pub(crate) name: String,
    pub(crate) from: Option<String>,
    pub(crate) qualifiers: Vec<String>,
    pub(crate) partial: Partial,
    pub(crate) similarity: Similarity,
    pub(crate) weight: Weight,
    pub(crate) tokenizer: Option<Tokenizer>,
    pub(crate) grid: Option<Grid>,
    pub(crate) exact_first: bool,
}

impl Category {
    /// A category of this name that indexes the field of the same name.
    pub fn new(name: impl Into<String>) -> Category {
        Category {
            name: name.into(),
            from: None,
            qualifiers: Vec::new(),
            partial: Partial::default(),
            similarity: Similarity::None,
            weight: Weight::default(),
            tokenizer: None,
            grid: None,
            exact_first: false,
        }
    }

    /// A category of numbers, searched by proximity: `lat:47.4` finds documents near 47.4. See
    /// [`Grid`]. Such a category has no partial words.
    pub fn near(name: impl Into<String>, grid: Grid) -> Category {
        Category { grid: Some(grid), partial: Partial::None, ..Category::new(name) }
    }

    /// The two categories of a place on Earth, see [`Grid::latitude`] and [`Grid::longitude`].
    pub fn place(
        latitude: impl Into<String>,
        longitude: impl Into<String>,
        km: f64,
        precision: u32,
    ) -> [Category; 2] {
        [
            Category::near(latitude, Grid::latitude(km, precision)),
            Category::near(longitude, Grid::longitude(km, precision)),
        ]
    }

    /// Indexes this field instead of the field with the name of the category.
    pub fn from(mut self, field: impl Into<String>) -> Category {
        self.from = Some(field.into());
        self
    }

    /// The names that a query writes before the colon to select this category, instead of its own.
    /// If two categories have the same qualifier, it selects the later one.
    pub fn qualifiers<Q: Into<String>>(
        mut self,
        qualifiers: impl IntoIterator<Item = Q>,
    ) -> Category {
        self.qualifiers = qualifiers.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the parts of a word that find it.
    pub fn partial(mut self, partial: Partial) -> Category {
        self.partial = partial;
        self
    }

    /// Sets the similarity of words.
    pub fn similarity(mut self, similarity: Similarity) -> Category {
        self.similarity = similarity;
        self
    }

    /// Sets the weight of words.
    pub fn weight(mut self, weight: Weight) -> Category {
        self.weight = weight;
        self
    }

    /// Uses this tokenizer instead of that of the index.
    pub fn tokenizer(mut self, tokenizer: Tokenizer) -> Category {
        self.tokenizer = Some(tokenizer);
        self
    }

    /// For a partial word of a query, shows documents with exactly this word first, and uses the
    /// higher of the two weights.
    pub fn exact_first(mut self, exact_first: bool) -> Category {
        self.exact_first = exact_first;
        self
    }

    /// The name of the indexed field.
    pub(crate) fn field(&self) -> &str {
        self.from.as_deref().unwrap_or(&self.name)
    }
}
